package httpapi

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/research"

	"github.com/ktrdr/ktrdr"
)

// memoryKinds are what may be asked of memory; the first is meant by who names
// none.
var memoryKinds = []string{"experiments", "hypotheses", "trials"}

// triggerWait is how long the creation of a large run may take.
const triggerWait = 5 * time.Minute

// The routes of researches and of what they leave.
func agentRoutes() []row {
	run := param{name: "run", kind: kindString, doc: "only those of this run"}
	trigger := post("/api/v1/agent/trigger",
		"Research a goal, or a strategy: durable operations that design, train, backtest and assess").makes(http.StatusAccepted)
	trigger.wait = triggerWait
	return append(memoryRoutes(),
		on(trigger, (*Server).trigger),
		on(get("/api/v1/agent/status", "Researches that have not ended, who works for them, and how the last one ended",
			param{
				name: "waiting", kind: kindInteger,
				doc: fmt.Sprintf("how many are listed of those that wait for their turn, 1 to %d; %d by default. The capacity counts all",
					mostWaiting, someWaiting),
			}),
			(*Server).researchStatus),
		on(del("/api/v1/agent/cancel/{id}", "Cancel one research and its children; the others go on",
			param{name: "reason", kind: kindString, doc: "why, for people"}), (*Server).cancelResearch),
		on(get("/api/v1/agent/budget", "What may be spent on models today; the built-in designer costs nothing"), (*Server).modelBudget),
		on(get("/api/v1/memory", "What researches left: experiments, hypotheses, trials",
			param{name: "kind", kind: kindString, doc: strings.Join(memoryKinds, ", ") + "; the first if none is named"},
			run, paramLimit, paramCursor), (*Server).memory),
		leaderboardRoute(),
	)
}

// trigger creates a run of researches. Under a key each of them has a key of its
// own, and the run its name, so that a repeated request completes what an
// interrupted one began: as that one would have.
func (s *Server) trigger(c *call, in research.Request) (research.Triggered, error) {
	key, err := c.idempotencyKey()
	if err != nil {
		return research.Triggered{}, err
	}
	in.Run = runOf(key)
	order, err := s.research.Trigger(c.Context(), in)
	if err != nil {
		return research.Triggered{}, err
	}
	out := research.Triggered{
		Run: order.Run, Seed: order.Seed, Understood: order.Understood, Warnings: order.Warnings, NotUnderstood: order.NotUnderstood,
	}
	replays := 0
	for i := 0; i < len(order.Operations); i = len(out.Operations) {
		some := order.Operations[i:min(i+ktrdr.MaxCreate, len(order.Operations))]
		if i == 0 {
			some = some[:1] // if it is there already, it decides about the others
		}
		made, err := s.submitAll(c, some, keysOf(key, i, len(some)))
		if err != nil && i > 0 {
			err = fmt.Errorf("%d of %d researches of %s were created: %w", i, len(order.Operations), order.Run, err)
		}
		if err != nil {
			return research.Triggered{}, err
		}
		for k, op := range made {
			if some[k].ID != "" && op.ID != some[k].ID {
				replays++
				out.Run = runOfOperation(op, out.Run)
			}
			out.Operations = append(out.Operations, research.TriggeredResearch{Operation: op.ID, Session: op.Session, Status: op.Status})
		}
		if i == 0 && replays > 0 && len(order.Operations) > 1 {
			in.Run = out.Run
			if order, err = s.research.Rest(in, made[0].Spec); err != nil {
				return research.Triggered{}, err
			}
			out.Seed = order.Seed
		}
	}
	if replays == len(out.Operations) {
		c.Header().Set(headerReplay, "true")
	}
	first := out.Operations[0]
	out.Operation, out.Session, out.Status = first.Operation, first.Session, first.Status
	return out, nil
}

// runOf names a run after its request's key; without one it is named by others.
func runOf(key ktrdr.IdempotencyKey) string {
	if key.Key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key.Key))
	return "run_" + hex.EncodeToString(sum[:8])
}

// keysOf are the keys of n researches of a run, from the i-th.
func keysOf(key ktrdr.IdempotencyKey, i, n int) []ktrdr.IdempotencyKey {
	keys := make([]ktrdr.IdempotencyKey, n)
	for k := range keys {
		keys[k] = key
		if key.Key != "" && i+k > 0 {
			keys[k].Key = fmt.Sprintf("%s #%d", key.Key, i+k)
		}
	}
	return keys
}

func runOfOperation(op ktrdr.Operation, other string) string {
	if op.Queue == nil {
		return other
	}
	return op.Queue.Run
}

// How many waiting researches a status lists. The counts are of all.
const (
	someWaiting = 20
	mostWaiting = 1000
)

func (s *Server) researchStatus(c *call, _ none) (research.Status, error) {
	waiting := cmp.Or(c.query.count("waiting", mostWaiting), someWaiting)
	if c.query.err != nil {
		return research.Status{}, c.query.err
	}
	return s.research.Status(c.Context(), waiting)
}

func (s *Server) modelBudget(c *call, _ none) (research.BudgetStatus, error) {
	return s.research.Budget(c.Context())
}

// cancelResearch cancels a research and nothing else: a child that is named by
// mistake goes on.
func (s *Server) cancelResearch(c *call, _ none) (CancelReply, error) {
	op, err := s.operation(c, none{})
	if err != nil {
		return CancelReply{}, err
	}
	if op.Type != ktrdr.AgentResearch {
		return CancelReply{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%s is no research but %s; DELETE /api/v1/operations/%s cancels it",
			op.ID, op.Type, op.ID)
	}
	return s.cancel(c, none{})
}

func (s *Server) memory(c *call, _ none) (research.MemoryPage, error) {
	q := research.MemoryQuery{Kind: memoryKinds[0], Limit: c.query.count("limit", maxPage), Cursor: c.query.Get("cursor")}
	if kind := c.query.Get("kind"); kind != "" {
		if !slices.Contains(memoryKinds, kind) {
			unknown(&c.query, "kind", kind, memoryKinds)
		}
		q.Kind = kind
	}
	if c.query.err != nil {
		return research.MemoryPage{}, c.query.err
	}
	var err error
	if q.Run, err = s.runNamed(c); err != nil {
		return research.MemoryPage{}, err
	}
	m, next, err := s.research.Memory(c.Context(), q)
	for i := range m.Experiments { // the answer about one research has them
		m.Experiments[i].Note, m.Experiments[i].Trial = nil, nil
	}
	c.next = next
	return m, err
}
