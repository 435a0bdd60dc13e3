package client_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/research"
)

// server answers as a ktrdr server does. Use the address of yours instead, for
// example http://127.0.0.1:8000, and the token from its data folder.
func server(answers map[string]string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.Method+" "+r.URL.RequestURI()]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"success":false,"data":null,"error":{"code":"not_found","message":"there is nothing at this path"}}`
		}
		_, _ = io.WriteString(w, answer)
	}))
}

// Start researches and read their run. A key makes the call repeatable: if the
// answer is lost, the same call with the same key returns the same researches.
func Example() {
	s := server(map[string]string{
		"POST /api/v1/agent/trigger": `{"success":true,"data":{"operation_id":"op_agent_research_1","run":"run_7"},"error":null}`,
		"GET /api/v1/runs/run_7":     `{"success":true,"data":{"run":"run_7","state":"RUNNING"},"error":null}`,
	})
	defer s.Close()

	c, err := client.New(s.URL, "ktrdr_token", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ctx := context.Background()
	made, err := c.Trigger(ctx, research.Request{Brief: "momentum on EURUSD 1h", Count: 8}, "my-first-run")
	if err != nil {
		log.Fatal(err)
	}
	run, err := c.Run(ctx, made.Run)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(made.Operation, run.State)
	// Output: op_agent_research_1 RUNNING
}

// Follow an operation until it has ended. A broken connection is made again.
func ExampleClient_FollowEvents() {
	s := server(map[string]string{
		"GET /api/v1/operations/op_dummy_1/events?until_terminal=true": "id: 1-1\nevent: created\ndata: {\"kind\":\"created\"}\n\n" +
			"id: 1-2\nevent: completed\ndata: {\"kind\":\"completed\"}\n\nevent: end\ndata: {}\n\n",
	})
	defer s.Close()

	c, err := client.New(s.URL, "ktrdr_token", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for event, err := range c.FollowEvents(context.Background(), "op_dummy_1", ktrdr.Cursor{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Kind)
	}
	// Output:
	// created
	// completed
}

// Every error has the code of the server.
func ExampleClient_Operation() {
	s := server(nil)
	defer s.Close()

	c, err := client.New(s.URL, "ktrdr_token", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	_, err = c.Operation(context.Background(), "op_dummy_2")
	fmt.Println(ktrdr.CodeOf(err) == ktrdr.CodeNotFound, ktrdr.CodeOf(err).Retryable())
	// Output: true false
}

// Call a route that has no method of its own.
func ExampleCall() {
	s := server(map[string]string{
		"GET /api/v1/operations/op_1/metrics": `{"success":true,"data":{"operation_id":"op_1","attempts":2},"error":null}`,
	})
	defer s.Close()

	c, err := client.New(s.URL, "ktrdr_token", client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m, err := client.Call(context.Background(), c, api.Metrics, api.ByID{ID: "op_1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Operation, m.Attempts)
	// Output: op_1 2
}
