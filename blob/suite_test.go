package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/ktrdr/ktrdr"
)

// root is a place where blobs are kept, as the suite sees it: a store may be
// opened on it more than once, and a test may damage it.
type root struct {
	open  func(t *testing.T, maxSize int64) Store
	plant func(t *testing.T, name string, b []byte) // writes a file or object behind the store's back
}

// roots are the kinds of root; every case of the suite runs on each.
var roots = map[string]func(t *testing.T) root{
	"Dir": dirRoot,
	"S3":  s3Root,
}

func onEveryRoot(t *testing.T, test func(t *testing.T, r root)) {
	for name, make := range roots {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t))
		})
	}
}

func dirRoot(t *testing.T) root {
	dir := t.TempDir()
	return root{
		open: func(t *testing.T, maxSize int64) Store {
			t.Helper()
			s, err := OpenDir(dir, Config{MaxSize: maxSize})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
		plant: func(t *testing.T, name string, b []byte) { writeFile(t, dir, name, b) },
	}
}

func hashOf(b []byte) ktrdr.Hash { return sha256.Sum256(b) }

// bytesOf returns n bytes that depend on the seed alone.
func bytesOf(seed uint64, n int) []byte {
	b := make([]byte, n)
	var key [32]byte
	key[0], key[1], key[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	_, _ = rand.NewChaCha8(key).Read(b)
	return b
}

func putBytes(ctx context.Context, s Store, b []byte) (ktrdr.Hash, error) {
	h := hashOf(b)
	_, err := s.Put(ctx, h, bytes.NewReader(b))
	return h, err
}

// readBlob reads a blob to its end, and verifies it.
func readBlob(ctx context.Context, s ktrdr.Blobs, h ktrdr.Hash, w io.Writer) error {
	r, err := s.Open(ctx, h)
	if err != nil {
		return err
	}
	defer r.Close()
	return verify(ctx, h, w, r)
}

func put(t *testing.T, s Store, b []byte) ktrdr.Hash {
	t.Helper()
	h, err := putBytes(t.Context(), s, b)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func mustRead(t *testing.T, s ktrdr.Blobs, want []byte) {
	t.Helper()
	var got bytes.Buffer
	if err := readBlob(t.Context(), s, hashOf(want), &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("read other bytes than were put (%d, want %d)", got.Len(), len(want))
	}
}

func wantCode(t *testing.T, err error, want ktrdr.Code) {
	t.Helper()
	if got := ktrdr.CodeOf(err); got != want {
		t.Fatalf("err = %v (code %q), want code %q", err, got, want)
	}
}

func listed(t *testing.T, s Store) []ktrdr.Hash {
	t.Helper()
	var all []ktrdr.Hash
	for info, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.Hash)
	}
	return all
}

func TestStore_ReturnsWhatWasPut(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		for i, size := range []int{0, 1, 4 << 10, 1<<20 + 1, 17 << 20} {
			b := bytesOf(uint64(i), size)
			n, err := s.Put(t.Context(), hashOf(b), bytes.NewReader(b))
			if err != nil || n != int64(size) {
				t.Fatalf("Put of %d bytes = %d, %v", size, n, err)
			}
			mustRead(t, s, b)
			mustRead(t, r.open(t, 0), b)
			info, err := s.Stat(t.Context(), hashOf(b))
			if err != nil || info.Size != int64(size) || info.Hash != hashOf(b) || time.Since(info.ModTime).Abs() > time.Minute {
				t.Fatalf("Stat = %+v, %v", info, err)
			}
		}
	})
}

func TestStore_RefusedPutStoresNothing(t *testing.T) {
	b := bytesOf(1, 100<<10)
	hungUp := errors.New("client hung up")
	cases := map[string]struct {
		body func() io.Reader
		want ktrdr.Code
		is   error
	}{
		"other bytes":    {body: func() io.Reader { return bytes.NewReader(bytesOf(2, len(b))) }, want: ktrdr.CodeCorrupt},
		"a byte missing": {body: func() io.Reader { return bytes.NewReader(b[:len(b)-1]) }, want: ktrdr.CodeCorrupt},
		"nothing":        {body: func() io.Reader { return strings.NewReader("") }, want: ktrdr.CodeCorrupt},
		"too many bytes": {body: func() io.Reader { return bytes.NewReader(append(slices.Clone(b), 0)) }, want: ktrdr.CodeTooLarge},
		"a broken connection": {
			body: func() io.Reader { return io.MultiReader(bytes.NewReader(b[:70<<10]), iotest.ErrReader(hungUp)) },
			want: ktrdr.CodeInternal, is: hungUp,
		},
	}
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, int64(len(b)))
		for name, c := range cases {
			_, err := s.Put(t.Context(), hashOf(b), c.body())
			if ktrdr.CodeOf(err) != c.want || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%s: err = %v, want code %q", name, err, c.want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Put(ctx, hashOf(b), bytes.NewReader(b)); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: err = %v", err)
		}
		if got := listed(t, s); len(got) != 0 {
			t.Errorf("stored %v, want nothing", got)
		}
		put(t, s, b)
		mustRead(t, s, b)
	})
}

func TestStore_MissingBlobIsNotFound(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, h := r.open(t, 0), hashOf([]byte("never put"))
		_, err := s.Open(t.Context(), h)
		wantCode(t, err, ktrdr.CodeNotFound)
		_, err = s.Stat(t.Context(), h)
		wantCode(t, err, ktrdr.CodeNotFound)
		wantCode(t, readBlob(t.Context(), s, h, io.Discard), ktrdr.CodeNotFound)
		if err := s.Delete(t.Context(), h); err != nil {
			t.Errorf("Delete of a missing blob: %v", err)
		}
		if err := s.Trash(t.Context(), h, time.Now()); err != nil {
			t.Errorf("Trash of a missing blob: %v", err)
		}
		if err := s.Purge(t.Context(), Trashed{Hash: h, At: time.Now()}); err != nil {
			t.Errorf("Purge of a missing blob: %v", err)
		}
	})
}

func TestStore_ReadsFromAnywhere(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b := r.open(t, 0), bytesOf(3, 200<<10)
		f, err := s.Open(t.Context(), put(t, s, b))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := iotest.TestReader(struct{ io.ReadSeeker }{f}, b); err != nil {
			t.Error(err)
		}
		if f.Size() != int64(len(b)) {
			t.Errorf("Size = %d, want %d", f.Size(), len(b))
		}
		if _, err := f.Seek(-1, io.SeekStart); err == nil {
			t.Error("Seek before the beginning was allowed")
		}
	})
}

func TestStore_ServesRanges(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b := r.open(t, 0), bytesOf(4, 100<<10)
		h := put(t, s, b)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			f, err := s.Open(req.Context(), h)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			defer f.Close()
			w.Header().Set("Content-Type", "application/octet-stream")
			http.ServeContent(w, req, "", time.Time{}, f)
		}))
		defer srv.Close()
		for _, c := range []struct {
			header   string
			from, to int
		}{{"", 0, len(b)}, {"bytes=0-0", 0, 1}, {"bytes=1000-70000", 1000, 70001}, {"bytes=-5", len(b) - 5, len(b)}} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.header != "" {
				req.Header.Set("Range", c.header)
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(got, b[c.from:c.to]) {
				t.Errorf("range %q: %d bytes, %v, status %s; want %d bytes", c.header, len(got), err, resp.Status, c.to-c.from)
			}
		}
	})
}

func TestStore_ListsEveryBlobInOrderAndNothingElse(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		var want []ktrdr.Hash
		for i := range 50 {
			want = append(want, put(t, s, bytesOf(uint64(i), i)))
		}
		stranger := put(t, s, []byte("trashed"))
		if err := s.Trash(t.Context(), stranger, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Identity(t.Context()); err != nil {
			t.Fatal(err)
		}
		name := blobName(hashOf([]byte("x")))
		for _, foreign := range []string{
			"README", "ab/notes.txt", "ab/cd/notes.txt", "trash/note", "ab/cd/" + name[6:], name + ".bak",
			"zz/" + name,
		} {
			r.plant(t, foreign, []byte("not a blob"))
		}
		slices.SortFunc(want, compareHash)
		if got := listed(t, s); !slices.Equal(got, want) {
			t.Errorf("listed %d blobs, want %d in order", len(got), len(want))
		}
		for range s.List(t.Context()) {
			break // must not panic or leak
		}
	})
}

func TestStore_CancelledListingIsNotComplete(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s := r.open(t, 0)
		put(t, s, []byte("a"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var last error
		for _, err := range s.List(ctx) {
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("last error = %v, want cancelled", last)
		}
	})
}

func TestStore_IdentityIsMadeOnceAndKept(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		const askers = 8
		ids := make([]string, askers)
		var wg sync.WaitGroup
		for i := range askers {
			s := r.open(t, 0)
			wg.Go(func() {
				id, err := s.Identity(t.Context())
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			})
		}
		wg.Wait()
		if slices.Sort(ids); ids[0] != ids[askers-1] || ids[0] == "" {
			t.Errorf("identities differ: %q", ids)
		}
		r.plant(t, identityName, []byte("../../etc/passwd"))
		_, err := r.open(t, 0).Identity(t.Context())
		wantCode(t, err, ktrdr.CodeCorrupt)
	})
}

func TestStore_RootsHaveTheirOwnIdentities(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		mine, err := r.open(t, 0).Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := dirRoot(t).open(t, 0).Identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if mine == theirs {
			t.Errorf("both are %q", mine)
		}
	})
}

func TestStore_RottenBlobIsToldAndHealedByPut(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b := r.open(t, 0), bytesOf(5, 10_000)
		h := put(t, s, b)
		for name, rotten := range map[string][]byte{
			"flipped": slices.Concat(b[:77], []byte{b[77] ^ 4}, b[78:]), "cut": b[:len(b)-1], "longer": append(slices.Clone(b), 0), "empty": nil,
		} {
			r.plant(t, blobName(h), rotten)
			wantCode(t, readBlob(t.Context(), s, h, io.Discard), ktrdr.CodeCorrupt)
			put(t, s, b)
			if err := readBlob(t.Context(), s, h, io.Discard); err != nil {
				t.Errorf("%s: after a new put: %v", name, err)
			}
		}
	})
}

func TestStore_ConcurrentPutsOfOneBlobAllSucceed(t *testing.T) {
	onEveryRoot(t, func(t *testing.T, r root) {
		s, b := r.open(t, 0), bytesOf(9, 50<<10)
		h := put(t, s, b)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for range 10 {
					var err error
					if i%2 == 0 {
						_, err = s.Put(t.Context(), h, bytes.NewReader(b))
					} else {
						err = readBlob(t.Context(), s, h, io.Discard)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := listed(t, s); len(got) != 1 {
			t.Errorf("listed %d blobs, want 1", len(got))
		}
	})
}

func TestOpen_RefusesWhatIsNoPlaceForBlobs(t *testing.T) {
	for _, location := range []string{"gs://bucket", "http://host/x", "s3://", "s3://b?colour=red"} {
		_, err := Open(t.Context(), location)
		wantCode(t, err, ktrdr.CodeInvalid)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err := Open(t.Context(), "s3://bucket")
	wantCode(t, err, ktrdr.CodeInvalid)
	if !strings.Contains(fmt.Sprint(err), "AWS_SECRET_ACCESS_KEY") {
		t.Errorf("err = %v, want it to name the variable", err)
	}
}
