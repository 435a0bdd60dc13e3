package blob

import (
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func refs(all ...ktrdr.BlobRef) iter.Seq2[ktrdr.BlobRef, error] {
	return func(yield func(ktrdr.BlobRef, error) bool) {
		for _, ref := range all {
			if !yield(ref, nil) {
				return
			}
		}
	}
}

func refTo(b []byte, op string) ktrdr.BlobRef {
	return ktrdr.BlobRef{
		Artifact:  ktrdr.Artifact{Name: "model", SHA256: hashOf(b), Size: int64(len(b))},
		Operation: ktrdr.OperationID(op),
	}
}

func TestCheck_FindsWhatIsWrongBothWays(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		intact, missing, resized, rotten, unnamed, aside := bytesOf(1, 10), bytesOf(2, 20), bytesOf(3, 30), bytesOf(4, 40), bytesOf(5, 50),
			bytesOf(6, 60)
		for _, b := range [][]byte{intact, resized, rotten, unnamed, aside} {
			put(t, s, b)
		}
		flipped := slices.Clone(rotten)
		flipped[7] ^= 1
		r.plant(t, blobName(hashOf(rotten)), flipped)
		if err := s.Trash(t.Context(), hashOf(aside), time.Now()); err != nil {
			t.Fatal(err)
		}
		wrong := refTo(resized, "op_c")
		wrong.Size++
		table := refs(refTo(intact, "op_a"), refTo(missing, "op_b"), wrong, refTo(rotten, "op_d"),
			refTo(missing, "op_e"), refTo(rotten, "op_f"), refTo(intact, "op_g"), refTo(aside, "op_h"))

		report, err := Check(t.Context(), s, table, true)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := report.Missing, []ktrdr.BlobRef{refTo(missing, "op_b"), refTo(missing, "op_e")}; !slices.Equal(got, want) {
			t.Errorf("Missing = %v, want %v", got, want)
		}
		if got, want := report.Corrupt, []ktrdr.BlobRef{refTo(rotten, "op_d"), refTo(rotten, "op_f")}; !slices.Equal(got, want) {
			t.Errorf("Corrupt = %v, want %v", got, want)
		}
		if got, want := report.WrongSize, []ktrdr.BlobRef{wrong}; !slices.Equal(got, want) {
			t.Errorf("WrongSize = %v, want %v", got, want)
		}
		if len(report.Unreferenced) != 1 || report.Unreferenced[0].Hash != hashOf(unnamed) || report.Unreferenced[0].Size != 50 {
			t.Errorf("Unreferenced = %v, want the one of 50 bytes", report.Unreferenced)
		}
		if report.Checked != 6 || report.Bytes != 10+30+40+50+60 || report.OK() {
			t.Errorf("Checked = %d, Bytes = %d, OK = %v, want 6, 190, false", report.Checked, report.Bytes, report.OK())
		}

		shallow, err := Check(t.Context(), s, refs(refTo(intact, "op_a"), refTo(rotten, "op_d")), false)
		if err != nil || !shallow.OK() {
			t.Errorf("a check that reads no bytes: %+v, %v", shallow, err)
		}
	})
}

func TestCheck_UnreadableRowsAreAnError(t *testing.T) {
	away := errors.New("database is away")
	_, err := Check(t.Context(), dirRoot(t).open(t, 0), func(yield func(ktrdr.BlobRef, error) bool) { yield(ktrdr.BlobRef{}, away) }, false)
	if !errors.Is(err, away) {
		t.Errorf("err = %v", err)
	}
}

func TestCheck_FindsEveryFlippedBit(t *testing.T) {
	const blobs = 1000
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	var table []ktrdr.BlobRef
	for i := range blobs {
		b := bytesOf(uint64(i), 1+rng.IntN(8<<10))
		table = append(table, refTo(b, "op_x"))
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		writeFile(t, dir, blobName(table[i].SHA256), b)
	}
	report, err := Check(t.Context(), openDir(t, dir), refs(table...), true)
	if err != nil || len(report.Corrupt) != blobs {
		t.Errorf("found %d of %d flipped bits, %v", len(report.Corrupt), blobs, err)
	}
	for i := range blobs {
		if err := os.WriteFile(filepath.Join(dir, blobName(table[i].SHA256)), bytesOf(0, 0), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, err = Check(t.Context(), openDir(t, dir), refs(table...), false)
	if err != nil || len(report.WrongSize) != blobs {
		t.Errorf("found %d of %d emptied blobs without reading them, %v", len(report.WrongSize), blobs, err)
	}
}
