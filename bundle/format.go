package bundle

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// The names of the files in a bundle, in their order. Ledgers and bars follow.
const (
	manifestFile = "manifest.json"
	specFile     = "spec.json"         // of the research, byte for byte as it is stored
	strategyFile = "strategy.yaml"     // as it was trained
	confirmFile  = "confirmation.json" // the spec of the look, as it is stored
	verdictFile  = "verdict.json"
	ledgerFolder = "ledger/" // MARKET.links: a line for each link
	barsFolder   = "bars/"   // SHA256.bars
)

// Format and Version are in every manifest.
const (
	Format  = "ktrdr claim"
	Version = 1
)

// The bounds of a bundle. What is larger is refused before it is read.
const (
	MaxBytes   = 512 << 20
	mostFiles  = 300
	mostText   = 1 << 20 // of one of the first five files
	mostLedger = 256 << 20
)

// Bundle is a claim with all that it was made from.
type Bundle struct {
	Manifest Manifest
	Spec     []byte // of the research
	Strategy []byte // YAML
	Confirm  []byte // spec of the look
	Verdict  Verdict
	Ledgers  map[string][]ktrdr.ChainLink // by market
	Bars     map[ktrdr.Hash][]byte        // bars files by their sha256; empty: the bars are somewhere else
}

// Manifest says what a bundle is.
type Manifest struct {
	Format   string            `json:"format"`
	Version  int               `json:"version"`
	Claim    ktrdr.OperationID `json:"claim"` // the look
	Research ktrdr.OperationID `json:"research_operation_id"`
	Words    *Words            `json:"words,omitempty"` // of a model that assessed; nil: the program did
}

// Words are what a model said of a verdict. They are no figures, but the result hash
// covers them.
type Words struct {
	Assessor    string                `json:"assessor"`
	Prompt      string                `json:"prompt,omitempty"`
	Strengths   []string              `json:"strengths"`
	Weaknesses  []string              `json:"weaknesses"`
	Suggestions []string              `json:"suggestions"`
	Hypotheses  []research.Hypothesis `json:"hypotheses"`
}

// Verdict is what the research and its look came to.
type Verdict struct {
	Strategy   string                `json:"strategy_name"`
	Verdict    evidence.Level        `json:"verdict"`
	Rung       string                `json:"rung"`
	ResultHash ktrdr.Hash            `json:"result_hash"`
	Weights    ktrdr.Hash            `json:"weights_hash"` // sha256 of the model
	Look       evidence.Confirmation `json:"look"`
	LookHash   ktrdr.Hash            `json:"look_hash"`
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// Write writes a bundle: a zip archive without compression. The same bundle is
// always the same bytes.
func Write(w io.Writer, b *Bundle) error {
	z := zip.NewWriter(w)
	put := func(name string, content []byte) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(content)
		}
		return err
	}
	manifest, err := encode(b.Manifest)
	verdict, err2 := encode(b.Verdict)
	err = errors.Join(err, err2, put(manifestFile, manifest), put(specFile, b.Spec), put(strategyFile, b.Strategy),
		put(confirmFile, b.Confirm), put(verdictFile, verdict))
	for _, id := range slices.Sorted(maps.Keys(b.Ledgers)) {
		var lines bytes.Buffer
		for _, l := range b.Ledgers[id] {
			fmt.Fprintf(&lines, "%s %s\n", l.Hash, l.Entry)
		}
		err = errors.Join(err, put(ledgerFolder+id+".links", lines.Bytes()))
	}
	hashes := slices.SortedFunc(maps.Keys(b.Bars), func(a, b ktrdr.Hash) int { return bytes.Compare(a[:], b[:]) })
	for _, h := range hashes {
		err = errors.Join(err, put(barsFolder+h.String()+".bars", b.Bars[h]))
	}
	return errors.Join(err, z.Close())
}

func damaged(format string, args ...any) error {
	return ktrdr.Errorf(ktrdr.CodeInvalid, "the file is no bundle of a claim, or is damaged: "+format, args...)
}

// Read reads a bundle. What is not written exactly as Write writes it is
// CodeInvalid, so that nothing can be hidden in a file that is otherwise right.
func Read(data []byte) (*Bundle, error) {
	if len(data) > MaxBytes {
		return nil, damaged("it has %d bytes; at most %d are read", len(data), MaxBytes)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, damaged("%w", err)
	}
	if len(z.File) > mostFiles {
		return nil, damaged("it holds %d files; at most %d are read", len(z.File), mostFiles)
	}
	b := &Bundle{Ledgers: map[string][]ktrdr.ChainLink{}, Bars: map[ktrdr.Hash][]byte{}}
	for _, f := range z.File {
		if err := b.read(f, data); err != nil {
			return nil, err
		}
	}
	if b.Manifest.Format != Format || b.Manifest.Version != Version {
		return nil, damaged("its manifest says %.40q, version %d; this program reads %q, version %d: use a newer ktrdr",
			b.Manifest.Format, b.Manifest.Version, Format, Version)
	}
	same := &comparing{want: data}
	if err := Write(same, b); err != nil || same.differs || len(same.want) > 0 {
		return nil, damaged("it is not written as ktrdr writes it; export it again")
	}
	return b, nil
}

// comparing says whether what is written is what is wanted.
type comparing struct {
	want    []byte
	differs bool
}

func (c *comparing) Write(p []byte) (int, error) {
	n := min(len(p), len(c.want))
	c.differs = c.differs || n < len(p) || !bytes.Equal(p, c.want[:n])
	c.want = c.want[n:]
	return len(p), nil
}

// read takes one file of the archive. It is stored without compression, so that it is
// a part of the data.
func (b *Bundle) read(f *zip.File, data []byte) error {
	if f.Method != zip.Store || f.UncompressedSize64 != f.CompressedSize64 || f.UncompressedSize64 > uint64(len(data)) {
		return damaged("%.60q is compressed", f.Name)
	}
	r, err := f.Open()
	if err != nil {
		return damaged("%.60q: %w", f.Name, err)
	}
	defer func() { _ = r.Close() }() // only read
	content, err := io.ReadAll(r)
	if err != nil {
		return damaged("%.60q: %w", f.Name, err)
	}
	if market, ok := inFolder(f.Name, ledgerFolder, ".links"); ok {
		return b.readLedger(market, content)
	}
	if name, ok := inFolder(f.Name, barsFolder, ".bars"); ok {
		h, err := ktrdr.ParseHash(name)
		if err != nil {
			return damaged("%.60q: %w", f.Name, err)
		}
		b.Bars[h] = content
		return nil
	}
	if len(content) > mostText {
		return damaged("%.60q has %d bytes; at most %d are read", f.Name, len(content), mostText)
	}
	switch f.Name {
	case manifestFile:
		err = strictly(content, &b.Manifest)
	case specFile:
		b.Spec = content
	case strategyFile:
		b.Strategy = content
	case confirmFile:
		b.Confirm = content
	case verdictFile:
		err = strictly(content, &b.Verdict)
	default:
		err = errors.New("this file does not belong into a bundle")
	}
	if err != nil {
		return damaged("%.60q: %w", f.Name, err)
	}
	return nil
}

func inFolder(name, folder, suffix string) (string, bool) {
	rest, ok := strings.CutPrefix(name, folder)
	rest, ok2 := strings.CutSuffix(rest, suffix)
	return rest, ok && ok2 && !strings.ContainsAny(rest, "/\\")
}

func strictly(content []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

func (b *Bundle) readLedger(market string, content []byte) error {
	if len(content) > mostLedger {
		return damaged("the ledger of %.60q has %d bytes; at most %d are read", market, len(content), mostLedger)
	}
	var links []ktrdr.ChainLink
	for line := range bytes.Lines(content) {
		hash, entry, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		h, err := ktrdr.ParseHash(string(hash))
		if !ok || err != nil {
			return damaged("line %d of the ledger of %.60q is not a hash and an entry", len(links)+1, market)
		}
		links = append(links, ktrdr.ChainLink{Market: market, Position: len(links) + 1, Hash: h, Entry: string(entry)})
	}
	b.Ledgers[market] = links
	return nil
}

// BarsOf are the series that a claim needs: those that the research saw and those of
// the holdout.
func (b *Bundle) BarsOf() (seen, holdout []jobs.Bars, err error) {
	spec, err := ktrdr.ParseSpec[research.Spec](b.Spec)
	return spec.Bars, spec.Holdout, err
}

// Heads are the heads of the ledgers in the bundle.
func (b *Bundle) Heads() (heads []ktrdr.ChainHead) {
	for _, market := range slices.Sorted(maps.Keys(b.Ledgers)) {
		if links := b.Ledgers[market]; len(links) > 0 {
			heads = append(heads, ktrdr.ChainHead{Market: market, Links: len(links), Hash: links[len(links)-1].Hash})
		}
	}
	return heads
}
