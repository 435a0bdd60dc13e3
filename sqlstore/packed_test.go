package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// Rows of every lab are packed with it: an edit would make their results
// unreadable.
func TestPacked_TheDictionaryIsNeverEdited(t *testing.T) {
	sum := sha256.Sum256(dictionary)
	if got, want := hex.EncodeToString(sum[:]), "bf4982b99138a497924e01f14df82d07775a96e32e4a50df902f0fa4adb723af"; got != want {
		t.Errorf("the dictionary is %s, want %s", got, want)
	}
}

func TestPacked_IsReadBackAndShort(t *testing.T) {
	var p packer
	results := strings.Split(strings.TrimSpace(string(dictionary)), "\n")
	if len(results) != 5 {
		t.Fatalf("%d results in the dictionary, want those of a research and its four children", len(results))
	}
	for _, text := range append(results, "", "{}", strings.Repeat("ü\n\"\\ 🙂", 40_000)) {
		packed, err := p.pack([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1000 && len(packed) > len(text)/20 {
			t.Errorf("%d bytes are packed into %d, want a twentieth or less", len(text), len(packed))
		}
		got, err := unpack(packed)
		if err != nil || got != text {
			t.Errorf("%.100q is read back as %.100q, %v", text, got, err)
		}
	}
	packed, err := p.pack([]byte(results[0]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(packed[:len(packed)/2]); err == nil {
		t.Error("half of it is read")
	}
	for _, bad := range [][]byte{{}, append([]byte{packedVersion + 1}, packed[1:]...)} {
		if _, err := unpack(bad); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			t.Errorf("unpack %.4x: %v, want CodeCorrupt", bad, err)
		}
	}
}

// Rows that shrink in their place would leave the pages of SQLite half empty.
func TestCompact_LeavesPagesThatAreFull(t *testing.T) {
	s := openStore(t, sqlitePath(t), nil)
	const researches = 150
	err := s.write(t.Context(), normal, func(x *tx) error {
		if _, err := x.exec(t.Context(), `INSERT INTO meta (key, value) VALUES ($1, '1')`, metaRestoring); err != nil { // past the triggers
			return err
		}
		for i := range researches {
			if err := insertResearch(t.Context(), x, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		if n, _, err = s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var packed, pages, unused int64
	err = s.readOne(t.Context(), func(r queryer) error {
		if err := r.row(t.Context(), `SELECT COUNT(*) FROM operations WHERE packed IS NOT NULL`).Scan(&packed); err != nil {
			return err
		}
		return r.row(t.Context(), `SELECT SUM(pgsize), SUM(unused) FROM dbstat WHERE name = 'operations'`).Scan(&pages, &unused)
	})
	if err != nil || packed != 5*researches {
		t.Fatalf("%d rows are packed, want %d; %v", packed, 5*researches, err)
	}
	if unused > pages/4 {
		t.Errorf("%d of %d bytes of the table are unused, want a quarter or less", unused, pages)
	}
}

// insertResearch adds a research that has ended, with texts as long as those of
// real ones. A part of each result are figures, which a packer cannot shorten
// much.
func insertResearch(ctx context.Context, x *tx, index int) error {
	const insert query = `INSERT INTO operations (id, operation_type, status, epoch, parent_id, root_id, root_created_at, queue, session, spec,
		result, created_at, completed_at)
		VALUES ($1, $2, 'COMPLETED', 1, $3, $4, 1, $5, $6, $7, $8, 1, 2)`
	root := fmt.Sprintf("op_research_%03d", index)
	figures := rand.New(rand.NewPCG(uint64(index), 1)) //nolint:gosec // any figures are as good
	for i, row := range []struct {
		spec, result, figures int
	}{{1929, 1700, 800}, {649, 3400, 1000}, {2585, 5700, 3300}, {414, 8000, 8000}, {1100, 1400, 1400}} {
		var b strings.Builder
		for b.Len() < row.figures {
			fmt.Fprintf(&b, "%d,", figures.Uint64())
		}
		result := "[" + b.String() + strings.Repeat("0,", max(0, row.result-b.Len())/2) + "0]"
		args := []any{fmt.Sprintf("op_child_%03d_%d", index, i), "dummy", root, root, "", nil, strings.Repeat("s", row.spec), result}
		if i == 0 {
			args = []any{root, "agent_research", nil, root, "research", index, strings.Repeat("s", row.spec), result}
		}
		if _, err := x.exec(ctx, insert, args...); err != nil {
			return err
		}
	}
	return nil
}
