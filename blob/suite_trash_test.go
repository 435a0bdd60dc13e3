package blob

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

// The part of the suite that is about the trash.

func trashed(t *testing.T, s Store) []Trashed {
	t.Helper()
	var all []Trashed
	for entry, err := range s.Trashed(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	return all
}

func TestStore_DeleteRemovesTheTrashedToo(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b := r.open(t, 0), bytesOf(1, 100)
		h := put(t, s, b)
		if err := s.Trash(t.Context(), h, time.Now()); err != nil {
			t.Fatal(err)
		}
		put(t, s, b)
		if err := s.Delete(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		_, err := s.Stat(t.Context(), h)
		wantCode(t, err, ktrdr.CodeNotFound)
	})
}

func TestStore_TrashedBlobComesBackWhenAskedFor(t *testing.T) {
	b := bytesOf(1, 1000)
	ask := map[string]func(ctx context.Context, s Store) error{
		"Put":  func(ctx context.Context, s Store) error { _, err := putBytes(ctx, s, b); return err },
		"Stat": func(ctx context.Context, s Store) error { _, err := s.Stat(ctx, hashOf(b)); return err },
		"Open": func(ctx context.Context, s Store) error { return readBlob(ctx, s, hashOf(b), io.Discard) },
	}
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		at := time.UnixMilli(1_700_000_000_123)
		for name, how := range ask {
			h := put(t, s, b)
			if err := s.Trash(t.Context(), h, at); err != nil {
				t.Fatal(err)
			}
			if got := listed(t, s); len(got) != 0 {
				t.Fatalf("%s: trashed blob is still listed", name)
			}
			if got, want := trashed(t, s), []Trashed{{Hash: h, Size: 1000, At: at}}; !slices.Equal(got, want) {
				t.Fatalf("%s: Trashed = %v, want %v", name, got, want)
			}
			if err := how(t.Context(), s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := listed(t, s); len(got) != 1 {
				t.Fatalf("%s: blob is not back", name)
			}
			info, err := s.Stat(t.Context(), h)
			if err != nil || time.Since(info.ModTime) > time.Minute {
				t.Fatalf("%s: back with age %v, %v; want young", name, time.Since(info.ModTime), err)
			}
			if err := s.Purge(t.Context(), Trashed{Hash: h, At: at}); err != nil {
				t.Fatal(err)
			}
			mustRead(t, s, b)
		}
	})
}

func TestStore_PurgeDeletesExactlyOneTrashing(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b := r.open(t, 0), bytesOf(1, 10)
		first, second := time.UnixMilli(1_700_000_000_000), time.UnixMilli(1_700_000_000_001)
		for _, at := range []time.Time{first, second} {
			if err := s.Trash(t.Context(), put(t, s, b), at); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Purge(t.Context(), Trashed{Hash: hashOf(b), At: first}); err != nil {
			t.Fatal(err)
		}
		if got := trashed(t, s); len(got) != 1 || !got[0].At.Equal(second) {
			t.Fatalf("left in the trash: %v, want only the second", got)
		}
		mustRead(t, s, b)
	})
}
