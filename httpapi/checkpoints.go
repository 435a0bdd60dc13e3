package httpapi

import (
	"time"

	"github.com/ktrdr/ktrdr"
)

// retention is how old checkpoints get unless a cleanup says otherwise.
const retention = 30 * 24 * time.Hour

// cleanupWait is how long a cleanup may take: it reads the whole blob store.
const cleanupWait = 10 * time.Minute

func checkpointRoutes() []row {
	const base = "/api/v1/checkpoints"
	cleanup := post(base+"/cleanup", "Delete old checkpoints and blobs that nothing names",
		param{name: "max_age_days", kind: kindNumber, doc: "age from which checkpoints are deleted; 30 when absent"})
	cleanup.wait = cleanupWait
	return []row{
		on(get(base, "The newest checkpoint of each operation, without its state",
			param{name: "older_than_days", kind: kindNumber, doc: "only checkpoints at least so old"},
			paramLimit, paramCursor), (*Server).listCheckpoints),
		on(get(base+"/stats", "How many checkpoints there are, and how large"), (*Server).checkpointStats),
		on(cleanup, (*Server).cleanup),
		on(get(base+"/{id}", "An operation's newest checkpoint with its state",
			param{name: "id", kind: kindString, doc: "this one instead of the newest"}), (*Server).checkpoint),
		on(get(base+"/{id}/history", "An operation's checkpoints, newest first, without their states"), (*Server).history),
		on(del(base+"/{id}", "Delete the checkpoints of an operation that has ended"), (*Server).deleteCheckpoints),
	}
}

// CleanupReply says what a cleanup deleted.
type CleanupReply struct {
	Checkpoints int `json:"checkpoints_deleted"`
	Blobs       int `json:"blobs_deleted"`
}

// DeletedCheckpoints says how many checkpoints an operation had.
type DeletedCheckpoints struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Deleted   int               `json:"checkpoints_deleted"`
}

func (s *Server) listCheckpoints(c *call, _ none) ([]ktrdr.Checkpoint, error) {
	q := ktrdr.CheckpointQuery{
		OlderThan: c.query.days("older_than_days", 0),
		Limit:     c.query.count("limit", maxPage),
		Cursor:    c.query.Get("cursor"),
	}
	if c.query.err != nil {
		return nil, c.query.err
	}
	page, err := s.engine.ListCheckpoints(c.Context(), q)
	if err != nil {
		return nil, err
	}
	c.next = page.Next
	return listed(page.Checkpoints), nil
}

func (s *Server) checkpointStats(c *call, _ none) (ktrdr.CheckpointStats, error) {
	return s.engine.CheckpointStats(c.Context())
}

func (s *Server) cleanup(c *call, _ none) (CleanupReply, error) {
	age := c.query.days("max_age_days", retention)
	if c.query.err != nil {
		return CleanupReply{}, c.query.err
	}
	checkpoints, blobs, err := s.engine.Cleanup(c.Context(), age)
	return CleanupReply{checkpoints, blobs}, err
}

func (s *Server) checkpoint(c *call, _ none) (ktrdr.Checkpoint, error) {
	op, err := c.operationID()
	if err != nil {
		return ktrdr.Checkpoint{}, err
	}
	return s.engine.CheckpointAt(c.Context(), op, c.query.Get("id"))
}

func (s *Server) history(c *call, _ none) ([]ktrdr.CheckpointInfo, error) {
	op, err := c.operationID()
	if err != nil {
		return nil, err
	}
	infos, err := s.engine.History(c.Context(), op)
	return listed(infos), err
}

func (s *Server) deleteCheckpoints(c *call, _ none) (DeletedCheckpoints, error) {
	op, err := c.operationID()
	if err != nil {
		return DeletedCheckpoints{}, err
	}
	n, err := s.engine.DeleteCheckpoints(c.Context(), op)
	return DeletedCheckpoints{op, n}, err
}
