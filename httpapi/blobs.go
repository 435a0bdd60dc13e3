package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
)

func blobRoutes() []row {
	const path = "/api/v1/blobs/{sha256}"
	head := get(path, "A blob's size").allow(workers...)
	head.method, head.produces = http.MethodHead, contentBytes
	fetch := get(path, "A blob's bytes, or a range of them").allow(workers...)
	fetch.produces, fetch.wait = contentBytes, transferTime(blobLimit)
	put := spec{
		method: http.MethodPut, path: path, summary: "Store a blob; a worker does so for a claim it holds",
		scopes: workers, limit: blobLimit, accepts: contentBytes,
		headers: []param{
			{name: headerOperation, kind: kindString, doc: "the operation the blob is for; an admin may leave it out"},
			{name: headerEpoch, kind: kindInteger, doc: "the epoch of the claim"},
		},
	}
	return []row{
		&plain{head, (*Server).statBlob},
		&plain{fetch, (*Server).getBlob},
		&plain{put, (*Server).putBlob},
	}
}

// BlobStored says what a PUT stored.
type BlobStored struct {
	SHA256 ktrdr.Hash `json:"sha256"`
	Size   int64      `json:"size"`
}

func (c *call) blobHash() (ktrdr.Hash, error) {
	h, err := ktrdr.ParseHash(c.PathValue("sha256"))
	if err != nil {
		return h, malformed("%w", err)
	}
	return h, nil
}

func (c *call) describeBlob(h ktrdr.Hash) {
	c.Header().Set("Content-Type", contentBytes)
	c.Header().Set("ETag", `"`+h.String()+`"`)
	c.Header().Set("Accept-Ranges", "bytes")
}

// readableBlob is the blob that is asked for, if it is for this reader: people
// read all, a worker what its operations were given.
func (s *Server) readableBlob(c *call) (ktrdr.Hash, error) {
	h, err := c.blobHash()
	if err == nil && c.token.Scope == ktrdr.ScopeWorker {
		err = s.engine.MayRead(c.Context(), h)
	}
	return h, err
}

func (s *Server) statBlob(c *call) error {
	h, err := s.readableBlob(c)
	if err != nil {
		return err
	}
	size, err := s.engine.StatBlob(c.Context(), h)
	if err != nil {
		return err
	}
	c.describeBlob(h)
	c.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	c.WriteHeader(http.StatusOK)
	return nil
}

func (s *Server) getBlob(c *call) error {
	h, err := s.readableBlob(c)
	if err != nil {
		return err
	}
	blob, err := s.engine.OpenBlob(c.Context(), h)
	if err != nil {
		return err
	}
	defer func() { _ = blob.Close() }()
	c.describeBlob(h)
	w := &contentWriter{call: c}
	http.ServeContent(w, c.Request, "", time.Time{}, blob)
	if w.refused == 0 {
		return nil
	}
	for _, name := range []string{"ETag", "Accept-Ranges"} {
		c.Header().Del(name)
	}
	if w.refused == http.StatusRequestedRangeNotSatisfiable {
		return refuse(w.refused, ktrdr.CodeInvalid, "the blob has no such range: %s", bytes.TrimSpace(w.text))
	}
	return ktrdr.Errorf(ktrdr.CodeInternal, "blob %s: %s", h, bytes.TrimSpace(w.text))
}

// contentWriter keeps http.ServeContent's own refusals back, so that they get
// the envelope like all others.
type contentWriter struct {
	*call
	refused int
	text    []byte
}

func (w *contentWriter) WriteHeader(status int) {
	if status == http.StatusRequestedRangeNotSatisfiable || status >= http.StatusInternalServerError {
		w.refused = status
		return
	}
	w.call.WriteHeader(status)
}

func (w *contentWriter) Write(p []byte) (int, error) {
	if w.refused != 0 {
		w.text = append(w.text, p...)
		return len(p), nil
	}
	return w.call.Write(p)
}

// putBlob stores a blob for a live claim, or for an admin. Workers of lost
// claims are told so before they have sent a byte.
func (s *Server) putBlob(c *call) error {
	h, err := c.blobHash()
	if err != nil {
		return err
	}
	if err := s.mayUpload(c, h); err != nil {
		return err
	}
	body, err := c.openBody()
	if err != nil {
		return err
	}
	if body == nil {
		body = http.NoBody // the empty blob is a blob
	}
	tracked := &trackedReader{r: body}
	size, err := s.engine.PutBlob(c.Context(), h, tracked)
	switch {
	case tracked.err != nil:
		return c.readError(tracked.err)
	case ktrdr.CodeOf(err) == ktrdr.CodeCorrupt:
		return refuse(http.StatusUnprocessableEntity, ktrdr.CodeCorrupt, "nothing was stored: %w", err)
	case err != nil:
		return err
	}
	c.bodyRead()
	return c.send(http.StatusOK, envelope{Success: true, Data: BlobStored{h, size}})
}

// trackedReader tells a body that broke off from a store that failed.
type trackedReader struct {
	r   io.Reader
	err error
}

func (t *trackedReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

func (s *Server) mayUpload(c *call, h ktrdr.Hash) error {
	op := ktrdr.OperationID(c.Request.Header.Get(headerOperation))
	if op == "" && c.token.Scope == ktrdr.ScopeAdmin {
		return nil
	}
	epoch, err := strconv.ParseInt(c.Request.Header.Get(headerEpoch), 10, 64)
	if err != nil || !op.Valid() {
		return ktrdr.Errorf(ktrdr.CodeForbidden, "a blob is stored for a claim: send the headers %s and %s", headerOperation, headerEpoch)
	}
	return s.engine.MayUpload(c.Context(), op, ktrdr.Epoch(epoch), h)
}
