package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/ktrdr/ktrdr"
)

const testBucket = "lab"

// s3Server is a real S3 server in this process, over real HTTP.
type s3Server struct {
	*httptest.Server
	backend *s3mem.Backend
	broken  atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // takes over a request and says so
}

func newS3Server(t *testing.T) *s3Server {
	t.Helper()
	s := &s3Server{backend: s3mem.New()}
	if err := s.backend.CreateBucket(testBucket); err != nil {
		t.Fatal(err)
	}
	next := gofakes3.New(s.backend).Server()
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if takeOver := s.broken.Load(); takeOver != nil && (*takeOver)(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *s3Server) breakWith(takeOver func(w http.ResponseWriter, r *http.Request) bool) {
	s.broken.Store(&takeOver)
}

func (s *s3Server) config(t *testing.T) S3Config {
	t.Helper()
	c, err := ParseS3("s3://" + testBucket + "/some/prefix?region=us-east-1&path_style=1&endpoint=" + url.QueryEscape(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	c.AccessKey, c.SecretKey = "key", "secret"
	c.SpoolDir = t.TempDir()
	return c
}

func (s *s3Server) open(t *testing.T, c S3Config) *S3 {
	t.Helper()
	store, err := OpenS3(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		store.Close()
		if left, err := os.ReadDir(c.SpoolDir); err != nil || len(left) > 0 {
			t.Errorf("left in the spool: %v, %v", left, err)
		}
	})
	return store
}

func s3Root(t *testing.T) root {
	srv := newS3Server(t)
	return root{
		open: func(t *testing.T, maxSize int64) Store {
			c := srv.config(t)
			c.MaxSize = maxSize
			return srv.open(t, c)
		},
		plant: func(t *testing.T, name string, b []byte) {
			t.Helper()
			if _, err := srv.backend.PutObject(testBucket, "some/prefix/"+name, map[string]string{}, bytes.NewReader(b), int64(len(b)),
				nil); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestParseS3(t *testing.T) {
	got, err := ParseS3("s3://lab/a/b/?endpoint=http%3A%2F%2Fminio:9000&region=eu-west-1&path_style=1")
	want := S3Config{Bucket: "lab", Prefix: "a/b", Endpoint: "http://minio:9000", Region: "eu-west-1", PathStyle: true}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for name, location := range map[string]string{
		"another scheme":     "https://lab/a",
		"no bucket":          "s3:///a",
		"credentials":        "s3://key:hunter2@lab/a",
		"unknown setting":    "s3://lab?acl=public",
		"setting twice":      "s3://lab?region=a&region=b",
		"path_style maybe":   "s3://lab?path_style=maybe",
		"endpoint by name":   "s3://lab?endpoint=minio",
		"endpoint with path": "s3://lab?endpoint=http://minio/x",
		"endpoint secret":    "s3://lab?endpoint=http://key:hunter2@minio",
		"unreadable":         "s3://key:hunter2@lab\x7f/a",
		"fragment":           "s3://lab#x",
	} {
		_, err := ParseS3(location)
		if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: err = %v, want invalid and no secret", name, err)
		}
	}
}

func TestS3Config_DoesNotShowItsSecrets(t *testing.T) {
	c := S3Config{AccessKey: "key", SecretKey: "hunter2", SessionToken: "hunter2"}
	for _, shown := range []string{fmt.Sprintf("%v", c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c)} {
		if strings.Contains(shown, "hunter2") {
			t.Errorf("shows its secret: %s", shown)
		}
	}
}

func TestOpen_S3ByLocationAndEnvironment(t *testing.T) {
	srv := newS3Server(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := Open(t.Context(), "s3://"+testBucket+"?path_style=1&endpoint="+srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put(t, s, []byte("x"))
	mustRead(t, s, []byte("x"))
}

func TestOpenS3_PrefixMayBeSpelledAnyWay(t *testing.T) {
	srv := newS3Server(t)
	for _, prefix := range []string{"", "/", "a/b", "/a/b/", "a//b", "./a/../a/b"} {
		c := srv.config(t)
		c.Prefix = prefix
		s := srv.open(t, c)
		put(t, s, []byte("x"))
		if got := listed(t, s); len(got) != 1 {
			t.Errorf("prefix %q: listed %d blobs, want the one that was put", prefix, len(got))
		}
	}
}

func TestOpenS3_SaysWhatIsWrong(t *testing.T) {
	srv := newS3Server(t)
	c := srv.config(t)
	c.Bucket = "nowhere"
	_, err := OpenS3(t.Context(), c)
	wantCode(t, err, ktrdr.CodeInvalid)

	c = srv.config(t)
	c.SecretKey = ""
	_, err = OpenS3(t.Context(), c)
	wantCode(t, err, ktrdr.CodeInvalid)

	c = srv.config(t)
	c.Endpoint = "http://127.0.0.1:1"
	_, err = OpenS3(t.Context(), c)
	wantCode(t, err, ktrdr.CodeUnavailable)
}

func TestS3_FailureOfTheServerIsSaidAndLeavesNothing(t *testing.T) {
	reply := func(status int, code string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
			return true
		}
	}
	for name, c := range map[string]struct {
		fail func(http.ResponseWriter, *http.Request) bool
		want ktrdr.Code
	}{
		"server error":        {reply(http.StatusInternalServerError, "InternalError"), ktrdr.CodeUnavailable},
		"credentials revoked": {reply(http.StatusForbidden, "AccessDenied"), ktrdr.CodeUnavailable},
		"server full":         {reply(http.StatusInsufficientStorage, "XMinioStorageFull"), ktrdr.CodeNoSpace},
		"object too large":    {reply(http.StatusBadRequest, "EntityTooLarge"), ktrdr.CodeTooLarge},
		"connection cut": {func(w http.ResponseWriter, _ *http.Request) bool {
			panic(http.ErrAbortHandler)
		}, ktrdr.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := newS3Server(t)
			s, b := srv.open(t, srv.config(t)), bytesOf(1, 1000)
			srv.breakWith(c.fail)
			_, err := s.Put(t.Context(), hashOf(b), bytes.NewReader(b))
			wantCode(t, err, c.want)
			srv.breakWith(func(http.ResponseWriter, *http.Request) bool { return false })
			_, err = s.Stat(t.Context(), hashOf(b))
			wantCode(t, err, ktrdr.CodeNotFound)
			put(t, s, b)
			mustRead(t, s, b)
		})
	}
}

func TestS3_TheServerCanVerifyTheHash(t *testing.T) {
	srv := newS3Server(t)
	s, b := srv.open(t, srv.config(t)), bytesOf(1, 1000)
	var sent atomic.Value
	srv.breakWith(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			sent.Store(r.Header.Get("X-Amz-Content-Sha256"))
		}
		return false
	})
	if h := put(t, s, b); sent.Load() != h.String() {
		t.Errorf("payload was signed as %v, want %s", sent.Load(), h)
	}
}

func TestS3_AnswerCutShortIsNotTheBlob(t *testing.T) {
	srv := newS3Server(t)
	s, b := srv.open(t, srv.config(t)), bytesOf(1, 100<<10)
	h := put(t, s, b)
	srv.breakWith(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, h.String()) {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write(b[:1000])
		panic(http.ErrAbortHandler)
	})
	err := readBlob(t.Context(), s, h, io.Discard)
	wantCode(t, err, ktrdr.CodeUnavailable)
}

func TestS3_ObjectThatShrankIsNotTheBlob(t *testing.T) {
	r := s3Root(t)
	s, b := r.open(t, 0), bytesOf(1, 1000)
	f, err := s.Open(t.Context(), put(t, s, b))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r.plant(t, blobName(hashOf(b)), b[:500])
	if got, err := io.ReadAll(f); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %d bytes, %v, want it to say that there is less", len(got), err)
	}
}

// A collector has copied a blob to the trash and is about to delete it from its
// place; meanwhile another one does both under the same instant, and a reader
// brings the blob back.
func TestS3_RestoredBlobSurvivesASlowCollector(t *testing.T) {
	srv := newS3Server(t)
	s, b, at := srv.open(t, srv.config(t)), bytesOf(1, 1000), time.Now()
	h := put(t, s, b)
	reached, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	srv.breakWith(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete && held.CompareAndSwap(false, true) {
			close(reached)
			<-release
		}
		return false
	})
	slow := make(chan error)
	go func() { slow <- s.Trash(t.Context(), h, at) }()
	<-reached
	if err := s.Trash(t.Context(), h, at); err != nil {
		t.Error(err)
	}
	mustRead(t, s, b)
	close(release)
	if err := <-slow; err != nil {
		t.Error(err)
	}
	mustRead(t, s, b)
}

func TestS3_CancelledRequestSaysSo(t *testing.T) {
	srv := newS3Server(t)
	s := srv.open(t, srv.config(t))
	ctx, cancel := context.WithCancel(t.Context())
	srv.breakWith(func(w http.ResponseWriter, r *http.Request) bool {
		cancel()
		<-r.Context().Done()
		return true
	})
	if _, err := s.Stat(ctx, hashOf(nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want cancelled", err)
	}
}
