package sqlstore

import (
	"bytes"
	"compress/flate"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Results are most of the bytes of a compacted research. They are kept deflated,
// in the column packed, and inflated whenever a row is read. Rows that are whole
// keep theirs as text: statements look there for the blobs that they name.
const (
	packResult   query = `UPDATE operations SET packed = $2, result = NULL{moved} WHERE id = $1`
	unpackResult query = `UPDATE operations SET result = $2, packed = NULL WHERE id = $1`
	selectPacked query = `SELECT id, packed FROM operations WHERE (id = $1 OR parent_id = $1) AND packed IS NOT NULL`
)

// dictionary is the results of one research without their figures and hashes:
// what every result repeats takes no place in a packed one. Rows that exist need
// it as it is. It is never edited; a better one is a second file with a version
// of its own.
//
//go:embed packed.txt
var dictionary []byte

// packedVersion is the first byte of what is packed: which dictionary it needs.
const packedVersion = 1

// packer deflates texts. The zero value is ready; it is not for several
// goroutines.
type packer struct {
	w   *flate.Writer
	out bytes.Buffer
}

// pack returns bytes that are good until the next call.
func (p *packer) pack(text []byte) (_ []byte, err error) {
	if p.w == nil {
		if p.w, err = flate.NewWriterDict(nil, flate.BestCompression, dictionary); err != nil {
			return nil, err
		}
	}
	p.out.Reset()
	p.out.WriteByte(packedVersion)
	p.w.Reset(&p.out) // keeps the dictionary
	if _, err := p.w.Write(text); err != nil {
		return nil, err
	}
	err = p.w.Close()
	return p.out.Bytes(), err
}

func unpack(packed []byte) (string, error) {
	if len(packed) == 0 || packed[0] != packedVersion {
		return "", ktrdr.Errorf(ktrdr.CodeCorrupt, "it was packed by a newer version of ktrdr, or is damaged")
	}
	var text strings.Builder
	_, err := io.Copy(&text, flate.NewReaderDict(bytes.NewReader(packed[1:]), dictionary))
	return text.String(), err
}

// unpackTree makes the results of a research and its children texts again.
func unpackTree(ctx context.Context, t *tx, root ktrdr.OperationID) error {
	type row struct {
		id     ktrdr.OperationID
		packed []byte
	}
	found, err := collect(ctx, t, fields(func(r *row) []any { return []any{&r.id, &r.packed} }), selectPacked, root)
	if err != nil {
		return err
	}
	for _, r := range found {
		text, err := unpack(r.packed)
		if err != nil {
			return fmt.Errorf("result of %s: %w", r.id, err)
		}
		t.later(ctx, unpackResult, r.id, text)
	}
	return nil
}

// packAll deflates the results of rows that have just been compacted.
func (p *packer) packAll(ctx context.Context, t *tx, marked []compactedRow) error {
	for _, m := range marked {
		if m.result == nil {
			continue
		}
		packed, err := p.pack(m.result)
		if err != nil {
			return fmt.Errorf("result of %s: %w", m.id, err)
		}
		if _, err := t.exec(ctx, packResult, m.id, packed); err != nil {
			return err
		}
	}
	return nil
}

// compactedRow is a row that has just been compacted, and its result.
type compactedRow struct {
	id     ktrdr.OperationID
	result json.RawMessage
}
