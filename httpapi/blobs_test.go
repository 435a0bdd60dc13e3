package httpapi

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

func blobPath(data string) string {
	return "/api/v1/blobs/" + ktrdr.Hash(sha256.Sum256([]byte(data))).String()
}

func forClaim(op ktrdr.OperationID, epoch int) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set(api.HeaderOperation, string(op))
		r.Header.Set(api.HeaderEpoch, strconv.Itoa(epoch))
	}
}

func TestBlobs_AreStoredForALiveClaimOrAnAdmin(t *testing.T) {
	st := serve(t, &fakeEngine{liveClaim: func(op ktrdr.OperationID, e ktrdr.Epoch) error {
		if op != testOp || e != 3 {
			return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "epoch %d of %s is not live", e, op)
		}
		return nil
	}})
	const data = "some weights"
	bin := header("Content-Type", api.ContentBytes)
	worker := as(st, ktrdr.ScopeWorker)
	put := func(options ...func(*http.Request)) *answer {
		return st.send(t, http.MethodPut, blobPath(data), data, append([]func(*http.Request){bin}, options...)...)
	}
	refusedWith(t, "a worker without a claim", put(worker), "", http.StatusForbidden, ktrdr.CodeForbidden)
	refusedWith(t, "a bad epoch", put(worker, forClaim(testOp, 3), header(api.HeaderEpoch, "x")), "", http.StatusForbidden,
		ktrdr.CodeForbidden)
	refusedWith(t, "a stale epoch", put(worker, forClaim(testOp, 2)), "", http.StatusConflict, ktrdr.CodeStaleEpoch)
	refusedWith(t, "a stale epoch, by an admin", put(forClaim(testOp, 2)), "", http.StatusConflict, ktrdr.CodeStaleEpoch)
	refusedWith(t, "other bytes", st.send(t, http.MethodPut, blobPath("others"), data, bin), "",
		http.StatusUnprocessableEntity, ktrdr.CodeCorrupt)
	if len(st.engine.blobs) != 0 {
		t.Fatalf("%d blobs were stored, want none", len(st.engine.blobs))
	}
	var stored api.BlobStored
	mustData(t, put(worker, forClaim(testOp, 3)), http.StatusOK, &stored)
	if stored.Size != int64(len(data)) {
		t.Errorf("size = %d, want %d", stored.Size, len(data))
	}
	mustData(t, put(), http.StatusOK, &stored)
	mustData(t, st.send(t, http.MethodPut, blobPath(""), ""), http.StatusOK, &stored)
}

func TestBlobs_AreReadInParts(t *testing.T) {
	const data = "0123456789"
	st := serve(t, &fakeEngine{blobs: map[ktrdr.Hash][]byte{sha256.Sum256([]byte(data)): []byte(data)}})
	tag := `"` + strings.TrimPrefix(blobPath(data), "/api/v1/blobs/") + `"`

	full := st.send(t, http.MethodGet, blobPath(data), "")
	if full.status != http.StatusOK || string(full.body) != data || full.header.Get("ETag") != tag ||
		full.header.Get("Content-Type") != api.ContentBytes {
		t.Errorf("GET = %d %q %v", full.status, full.body, full.header)
	}
	part := st.send(t, http.MethodGet, blobPath(data), "", header("Range", "bytes=3-5"))
	if part.status != http.StatusPartialContent || string(part.body) != "345" {
		t.Errorf("range = %d %q, want 206 and 345", part.status, part.body)
	}
	head := st.send(t, http.MethodHead, blobPath(data), "")
	if head.status != http.StatusOK || head.header.Get("Content-Length") != "10" || head.header.Get("ETag") != tag {
		t.Errorf("HEAD = %d %v", head.status, head.header)
	}
	same := st.send(t, http.MethodGet, blobPath(data), "", header("If-None-Match", tag))
	if same.status != http.StatusNotModified {
		t.Errorf("with the right ETag: status = %d, want 304", same.status)
	}
	refusedWith(t, "beyond", st.send(t, http.MethodGet, blobPath(data), "", header("Range", "bytes=20-30")), "",
		http.StatusRequestedRangeNotSatisfiable, ktrdr.CodeInvalid)
	refusedWith(t, "missing", st.send(t, http.MethodGet, blobPath("x"), ""), "", http.StatusNotFound, ktrdr.CodeNotFound)
	refusedWith(t, "missing", st.send(t, http.MethodHead, blobPath("x"), ""), http.MethodHead, http.StatusNotFound, ktrdr.CodeNotFound)
	refusedWith(t, "upper case", st.send(t, http.MethodGet, strings.ToUpper(blobPath("x")), ""), "", http.StatusNotFound, ktrdr.CodeNotFound)
}

func TestBlobs_AreReadOnlyByWorkersAndOnlyWhatTheyWereGiven(t *testing.T) {
	const given, hidden = "bars to train on", "bars of the holdout"
	st := serve(t, &fakeEngine{
		blobs: map[ktrdr.Hash][]byte{sha256.Sum256([]byte(given)): []byte(given), sha256.Sum256([]byte(hidden)): []byte(hidden)},
		mayRead: func(h ktrdr.Hash) error {
			if h == sha256.Sum256([]byte(given)) {
				return nil
			}
			return ktrdr.Errorf(ktrdr.CodeForbidden, "not yours")
		},
	})
	worker, reader := as(st, ktrdr.ScopeWorker), as(st, ktrdr.ScopeRead)
	if a := st.send(t, http.MethodGet, blobPath(given), "", worker); a.status != http.StatusOK || string(a.body) != given {
		t.Errorf("what it was given: %d %s", a.status, a.body)
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		refusedWith(t, method+" of another", st.send(t, method, blobPath(hidden), "", worker), method, http.StatusForbidden, ktrdr.CodeForbidden)
		refusedWith(t, method+" by a reader", st.send(t, method, blobPath(given), "", reader), method, http.StatusForbidden, ktrdr.CodeForbidden)
		refusedWith(t, method+" by an admin", st.send(t, method, blobPath(hidden), ""), method, http.StatusForbidden, ktrdr.CodeForbidden)
	}
}

func TestBlobs_ABodyThatBreaksOffStoresNothing(t *testing.T) {
	st := serve(t, &fakeEngine{})
	data := bytes.Repeat([]byte("x"), 1<<20)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, st.url+blobPath(string(data)),
		io.MultiReader(bytes.NewReader(data[:1<<19]), brokenReader{}))
	if err != nil {
		t.Fatal(err)
	}
	as(st, ktrdr.ScopeAdmin)(req)
	req.Header.Set("Content-Type", api.ContentBytes)
	req.ContentLength = int64(len(data))
	if res, err := st.http.Do(req); err == nil {
		_ = res.Body.Close()
		t.Errorf("status = %d, want a broken connection", res.StatusCode)
	}
	eventually(t, "the server has noticed", func() bool { return strings.Contains(st.logged.String(), "did not arrive completely") })
	if len(st.engine.blobs) != 0 {
		t.Error("half a blob was stored")
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

// An assistant with a token of its own scope gives the content of a file.
func TestAssistant_UploadsAFile(t *testing.T) {
	secret, token := NewToken("assistant", ktrdr.ScopeAssistant)
	engine := &fakeEngine{blobs: map[ktrdr.Hash][]byte{}}
	s := serve(t, engine)
	engine.tokens = append(engine.tokens, token)
	const file = "time,open,high,low,close,volume\n"
	a := s.send(t, http.MethodPut, blobPath(file), file, header("Authorization", "Bearer "+secret.Reveal()),
		header("Content-Type", api.ContentBytes))
	if a.status != http.StatusOK {
		t.Errorf("%d: %s", a.status, a.body)
	}
}
