package llm_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/sqlstore"
)

func openStore(t *testing.T, url string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: url, Types: dummy.Types()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The real journal and the real wire: what was bought before a restart is there
// after it, and money that was charged is.
func TestChain_OverTheRealStoreAndARealServer(t *testing.T) {
	url := filepath.Join(t.TempDir(), "ktrdr.db")
	store := openStore(t, url)
	if _, err := store.Create(t.Context(), ktrdr.NewOperation{Type: ktrdr.Dummy}, ktrdr.IdempotencyKey{}); err != nil {
		t.Fatal(err)
	}
	task, err := store.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, "")
	if err != nil || task == nil {
		t.Fatalf("claim: %v, %v", task, err)
	}
	server := llmtest.New(t, llmtest.Script(
		llmtest.Step{Fault: llmtest.Garbage},
		llmtest.Step{Text: "a < b" + llmtest.NUL, Tools: []llmtest.ToolCall{{ID: "t", Name: "save", Input: `{"z":1,"a":"\u0000"}`}}},
	))
	cfg := patient()
	cfg.BaseURL = server.Anthropic()
	provider, err := llm.NewAnthropic(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := setUp(t, []*fake{{name: "a"}, {name: "b"}}, func(c *llm.ChainConfig) {
		c.Journal = store
		for i := range c.Models {
			c.Models[i].Provider = provider
		}
	})
	b.ask.Operation, b.ask.Epoch = task.Operation, task.Epoch
	call := func() llm.Answer {
		t.Helper()
		a, _, err := b.Call(t.Context(), b.ask, question("q"))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := call()
	before := spent(t, store, task.Operation)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	store = openStore(t, url)
	defer func() { _ = store.Close() }()
	b.cfg.Journal = store
	b.restart()
	again := call()
	want(t, "text", again.Text, "a < b\uFFFD")
	want(t, "input", string(again.ToolCalls[0].Input), string(first.ToolCalls[0].Input))
	want(t, "requests", len(server.Requests()), 2)
	want(t, "spent", spent(t, store, task.Operation), before)
	calls, err := store.Calls(t.Context(), task.Operation, 10)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "garbage is charged in full", calls[0].Charged, mostOf("q"))
	want(t, "the answer at its cost", calls[1].Charged, ktrdr.MicroUSD(53)) // 10 tokens at 1.5, 5 at 7.5, rounded up
}

func spent(t *testing.T, j ktrdr.Journal, root ktrdr.OperationID) ktrdr.MicroUSD {
	t.Helper()
	s, err := j.Spending(context.WithoutCancel(t.Context()), root)
	if err != nil {
		t.Fatal(err)
	}
	return s.Research
}
