package httpapi

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/ktrdr/ktrdr"
)

func fileRoutes() []row {
	const base = "/api/v1/operations/{id}"
	fetch := get(base+"/files/{name}", "A file that an operation made, or a range of it; one of a compacted operation is computed again")
	fetch.produces, fetch.wait = contentBytes, transferTime(blobLimit)
	return []row{
		&plain{fetch, (*Server).getFile},
		on(post(base+"/pin", "Keep the files of the research that an operation belongs to; files that are not kept are computed again first"),
			(*Server).pin),
		on(del(base+"/pin", "Let the research that an operation belongs to be compacted if it claims nothing"), (*Server).unpin),
	}
}

// PinReply says which research is pinned, or not any more.
type PinReply struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Pinned    bool              `json:"pinned"`
}

func (s *Server) getFile(c *call) error {
	op, err := s.operation(c, none{})
	if err != nil {
		return err
	}
	b, err := s.desk.File(c.Context(), op, c.PathValue("name"))
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", contentBytes)
	http.ServeContent(c, c.Request, "", time.Time{}, bytes.NewReader(b))
	return nil
}

func (s *Server) pin(c *call, _ none) (PinReply, error)   { return s.setPinned(c, true) }
func (s *Server) unpin(c *call, _ none) (PinReply, error) { return s.setPinned(c, false) }

func (s *Server) setPinned(c *call, pinned bool) (PinReply, error) {
	id, err := c.operationID()
	if err != nil {
		return PinReply{}, err
	}
	op, err := s.desk.Pin(c.Context(), id, pinned)
	return PinReply{op.ID, op.Pinned}, err
}

// filePath is where a file of an operation is.
func filePath(id ktrdr.OperationID, name string) string {
	return "/api/v1/operations/" + string(id) + "/files/" + url.PathEscape(name)
}

// Pin keeps the files of the research that an operation belongs to.
func (cl *Client) Pin(ctx context.Context, id ktrdr.OperationID) (out PinReply, err error) {
	err = cl.post(ctx, operationPath(id, "/pin"), nil, &out)
	return out, err
}

// Unpin lets it be compacted if it claims nothing.
func (cl *Client) Unpin(ctx context.Context, id ktrdr.OperationID) (out PinReply, err error) {
	err = cl.delete(ctx, operationPath(id, "/pin"), nil, &out)
	return out, err
}
