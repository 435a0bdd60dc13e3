package httpapi

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/ktrdr/ktrdr"
)

// Conversation is what a research and models said to each other.
type Conversation struct {
	Operation ktrdr.OperationID `json:"operation_id"` // the research
	Talks     []Talk            `json:"talks"`        // of its design and its assessment; none if no model was asked
}

// Talk is one conversation with a model.
type Talk struct {
	Operation ktrdr.OperationID `json:"operation_id"` // the design or the assessment
	Type      ktrdr.Type        `json:"operation_type"`
	Prompt    string            `json:"prompt,omitempty"` // and its version
	Models    []string          `json:"models"`           // that were asked
	Calls     int               `json:"calls"`
	Failed    int               `json:"failed"`
	Input     int64             `json:"input_tokens"`
	Output    int64             `json:"output_tokens"`
	USD       float64           `json:"usd"`
	Whole     bool              `json:"whole"` // false: only the answers are kept
	Turns     []Turn            `json:"turns"`
}

// Turn is something that was said.
type Turn struct {
	Role  string          `json:"role"` // system, user, assistant, or tool for what a tool gave back
	Text  string          `json:"text,omitempty"`
	Tool  string          `json:"tool,omitempty"`  // that the model used
	Input json.RawMessage `json:"input,omitempty"` // of the tool
	Error bool            `json:"error,omitempty"` // the tool refused
}

func memoryRoutes() []row {
	return []row{
		on(get("/api/v1/memory/{id}", "All that is remembered of one research: figures, strategy, hypotheses, hashes"), (*Server).experiment),
		on(get("/api/v1/memory/{id}/conversation", "What a research and models said to each other"), (*Server).conversation),
	}
}

func (s *Server) experiment(c *call, _ none) (Experiment, error) {
	id, err := c.operationID()
	if err != nil {
		return Experiment{}, err
	}
	return s.research.Experiment(c.Context(), id)
}

func (s *Server) conversation(c *call, _ none) (Conversation, error) {
	id, err := c.operationID()
	if err != nil {
		return Conversation{}, err
	}
	t, err := s.research.Conversation(c.Context(), id)
	t.Talks = listed(t.Talks)
	return t, err
}

// Experiment returns all that is remembered of a research; CodeNotFound.
func (cl *Client) Experiment(ctx context.Context, id ktrdr.OperationID) (out Experiment, err error) {
	_, err = cl.get(ctx, "memory/"+url.PathEscape(string(id)), nil, &out)
	return out, err
}

// Conversation returns what a research and models said to each other.
func (cl *Client) Conversation(ctx context.Context, id ktrdr.OperationID) (out Conversation, err error) {
	_, err = cl.get(ctx, "memory/"+url.PathEscape(string(id))+"/conversation", nil, &out)
	return out, err
}
