package httpapi

import (
	"context"
	"net/url"

	"github.com/ktrdr/ktrdr/agent"

	"github.com/ktrdr/ktrdr/research"

	"github.com/ktrdr/ktrdr"
)

func memoryRoutes() []row {
	return []row{
		on(get("/api/v1/memory/{id}", "All that is remembered of one research: figures, strategy, hypotheses, hashes"), (*Server).experiment),
		on(get("/api/v1/memory/{id}/conversation", "What a research and models said to each other"), (*Server).conversation),
	}
}

func (s *Server) experiment(c *call, _ none) (research.ExperimentRow, error) {
	id, err := c.operationID()
	if err != nil {
		return research.ExperimentRow{}, err
	}
	return s.research.Experiment(c.Context(), id)
}

func (s *Server) conversation(c *call, _ none) (agent.Conversation, error) {
	id, err := c.operationID()
	if err != nil {
		return agent.Conversation{}, err
	}
	t, err := s.research.Conversation(c.Context(), id)
	t.Talks = listed(t.Talks)
	return t, err
}

// Experiment returns all that is remembered of a research; CodeNotFound.
func (cl *Client) Experiment(ctx context.Context, id ktrdr.OperationID) (out research.ExperimentRow, err error) {
	_, err = cl.get(ctx, "memory/"+url.PathEscape(string(id)), nil, &out)
	return out, err
}

// Conversation returns what a research and models said to each other.
func (cl *Client) Conversation(ctx context.Context, id ktrdr.OperationID) (out agent.Conversation, err error) {
	_, err = cl.get(ctx, "memory/"+url.PathEscape(string(id))+"/conversation", nil, &out)
	return out, err
}
