package httpapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

func (c *call) describeBlob(h ktrdr.Hash) {
	c.Header().Set("Content-Type", api.ContentBytes)
	c.Header().Set("ETag", `"`+h.String()+`"`)
	c.Header().Set("Accept-Ranges", "bytes")
}

func (s *Server) statBlob(c *call, in api.ByHash) error {
	h := in.Hash
	if err := s.engine.MayRead(c.Context(), h); err != nil {
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

func (s *Server) getBlob(c *call, in api.ByHash) error {
	h := in.Hash
	if err := s.engine.MayRead(c.Context(), h); err != nil {
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
func (s *Server) putBlob(c *call, in api.PutBlobRequest) error {
	h := in.Hash
	if err := s.mayUpload(c, in); err != nil {
		return err
	}
	body, err := c.openBody()
	if err != nil {
		return err
	}
	if body == nil {
		body = bytes.NewReader(nil) // the empty blob is a blob
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
	return c.send(http.StatusOK, api.Envelope{Success: true, Data: api.BlobStored{SHA256: h, Size: size}})
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

func (s *Server) mayUpload(c *call, in api.PutBlobRequest) error {
	op := ktrdr.OperationID(in.Operation)
	if op == "" && (c.token.Scope == ktrdr.ScopeAdmin || c.token.Scope == ktrdr.ScopeAssistant) {
		return nil
	}
	epoch, err := strconv.ParseInt(in.Epoch, 10, 64)
	if err != nil || !op.Valid() {
		return ktrdr.Errorf(ktrdr.CodeForbidden, "a blob is stored for a claim: send the headers %s and %s", api.HeaderOperation, api.HeaderEpoch)
	}
	return s.engine.MayUpload(c.Context(), op, ktrdr.Epoch(epoch), in.Hash)
}
