package bench_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/labtest"
)

// What the checkpoints of other programs are measured with.
const (
	threadClients = 32
	threadState   = 4096
	threadTime    = 3 * time.Second
	clockTicks    = 100 // a second, in /proc
)

// BenchmarkThreads prints how many checkpoints of 4 KB a real server stores
// and reads for 32 clients over HTTP, beside the raw commits of the same disk
// in the same run, and what the server's own CPU pays for each.
func BenchmarkThreads(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	onBoth(b, func(b *testing.B, name, url, driver, raw string) {
		measureThreads(b, name, serveThreads(b, "KTRDR_DB="+url), driver, raw)
	})
}

func measureThreads(b *testing.B, name string, s *threadServer, driver, raw string) {
	b.Helper()
	db, err := sql.Open(driver, raw)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	commits := func() float64 {
		n, err := bench.Raw(db)(b.Context(), 1, threadTime)
		if err != nil {
			b.Fatal(err)
		}
		return float64(n) / threadTime.Seconds()
	}
	before := commits()
	puts := s.rate(b, (*threadClient).put)
	gets := s.rate(b, (*threadClient).get)
	after := commits()
	one := (before + after) / 2
	each := time.Duration(float64(time.Second) / one)
	verdict := bench.Aim(puts.cpu <= 200*time.Microsecond, "<= 200µs CPU, as a raw commit costs < 0.5ms")
	if each >= time.Millisecond/2 {
		verdict = bench.Aim(puts.perSecond >= 3*one, ">= 3 x")
	}
	fmt.Printf("== threads over HTTP, %s\n", name)
	fmt.Printf("raw single-row commits           %8.0f /s on 1 connection (%v each; %.0f before, %.0f after)\n", one,
		each.Round(time.Microsecond), before, after)
	fmt.Printf("thread puts of 4 KB              %8.0f /s with %d clients = %.2f x raw; %v CPU of the server each%s\n",
		puts.perSecond, threadClients, puts.perSecond/one, puts.cpu, verdict)
	if commits, writes := s.commits(b); commits > 0 {
		fmt.Printf("writes that share a commit       %8.1f on average, since the server started\n", writes/commits)
	}
	fmt.Printf("thread gets of 4 KB              %8.0f /s with %d clients; %v CPU of the server each%s\n",
		gets.perSecond, threadClients, gets.cpu, bench.Aim(gets.cpu <= 120*time.Microsecond, "<= 120µs"))
}

// threadServer is a real backend.
type threadServer struct {
	url, token string
	pid        int
	clients    []*threadClient
}

func serveThreads(b *testing.B, env ...string) *threadServer {
	b.Helper()
	data := filepath.Join(b.TempDir(), "data")
	env = labtest.Environment(b, data, labtest.Times{}, env...)
	serve := labtest.Start(b, labtest.Program{Args: []string{"serve", "--json", "--workers", "0", "--addr", "127.0.0.1:0"}, Env: env})
	var ready struct {
		URL string `json:"url"`
	}
	serve.Ready(&ready)
	token, err := os.ReadFile(filepath.Join(data, "token"))
	if err != nil {
		b.Fatal(err)
	}
	s := &threadServer{url: ready.URL, token: strings.TrimSpace(string(token)), pid: serve.PID()}
	transport := &http.Transport{MaxIdleConnsPerHost: threadClients}
	b.Cleanup(transport.CloseIdleConnections)
	for i := range threadClients {
		s.clients = append(s.clients, newThreadClient(s, transport, i))
	}
	return s
}

// measured is a rate, and what one call costs the server.
type measured struct {
	perSecond float64
	cpu       time.Duration
}

// rate lets every client call f for a while.
func (s *threadServer) rate(b *testing.B, f func(*threadClient, context.Context) error) measured {
	b.Helper()
	for _, c := range s.clients { // connecting and a thread's first put are not measured
		if err := f(c, b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	begun, used := time.Now(), s.cpu(b)
	for _, c := range s.clients {
		wg.Go(func() {
			for time.Since(begun) < threadTime {
				if err := f(c, b.Context()); err != nil {
					b.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	n := done.Load()
	if b.Failed() || n == 0 {
		b.FailNow()
	}
	return measured{
		perSecond: float64(n) / time.Since(begun).Seconds(),
		cpu:       ((s.cpu(b) - used) / time.Duration(n)).Round(time.Microsecond),
	}
}

// cpu is what the server's process has used so far.
func (s *threadServer) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may hold anything
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / clockTicks
}

// commits is how many transactions the server has committed, and how many
// writes they held. Where every write is a transaction of its own, it does not
// say.
func (s *threadServer) commits(b *testing.B) (commits, writes float64) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.url+"/api/v1/health", nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	res, err := s.clients[0].http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var health struct {
		Store struct {
			Detail struct {
				Commits float64 `json:"commits"`
				Writes  float64 `json:"writes"`
			} `json:"detail"`
		} `json:"store"`
	}
	if err := json.NewDecoder(res.Body).Decode(&health); err != nil {
		b.Fatal(err)
	}
	return health.Store.Detail.Commits, health.Store.Detail.Writes
}

// threadClient writes one thread of its own.
type threadClient struct {
	*threadServer
	http   http.Client
	thread string
	step   int
	state  []byte // of the wire, nearly all noise
}

func newThreadClient(s *threadServer, transport http.RoundTripper, i int) *threadClient {
	noise := make([]byte, threadState)
	rng := rand.NewChaCha8([32]byte{byte(i)})
	_, _ = rng.Read(noise) // never fails
	return &threadClient{threadServer: s, http: http.Client{Transport: transport}, thread: fmt.Sprint("thread-", i), state: noise}
}

// id names a checkpoint. LangGraph's ids begin with the time too.
func (c *threadClient) id(step int) string { return fmt.Sprintf("%08d-%s", step, c.thread) }

// put stores the next checkpoint: one channel changes, one does not.
func (c *threadClient) put(ctx context.Context) error {
	c.step++
	copy(c.state, fmt.Sprintf("%08d", c.step)) // a new state each time
	news := fmt.Sprintf(`{"state":%d}`, c.step)
	values := fmt.Sprintf(`{"state":{"t":"json","b":%q}}`, base64.StdEncoding.EncodeToString(c.state))
	parent := fmt.Sprintf(`"parent_checkpoint_id":%q,`, c.id(c.step-1))
	if c.step == 1 {
		news, parent = `{"state":1,"brief":1}`, ""
		values = strings.TrimSuffix(values, "}") + `,"brief":{"t":"json","b":"d2hhdA=="}}`
	}
	body := fmt.Sprintf(`{"thread_id":%q,"checkpoint_ns":"",%s"checkpoint":{"v":4,"id":%q,"ts":"2026-01-01T00:00:00Z",`+
		`"channel_versions":{"state":%d,"brief":1},"versions_seen":{"node":{"state":%d}}},"channel_values":%s,"new_versions":%s,`+
		`"metadata":{"source":"loop","step":%d,"parents":{}}}`,
		c.thread, parent, c.id(c.step), c.step, c.step-1, values, news, c.step)
	_, err := c.post(ctx, "put", body)
	return err
}

// get reads the newest checkpoint.
func (c *threadClient) get(ctx context.Context) error {
	answer, err := c.post(ctx, "get", fmt.Sprintf(`{"thread_id":%q,"checkpoint_ns":""}`, c.thread))
	if err != nil {
		return err
	}
	if len(answer) < threadState {
		return errors.New("the answer holds no state")
	}
	return nil
}

func (c *threadClient) post(ctx context.Context, what, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/api/v1/threads/"+what, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Content-Type", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = ktrdr.Errorf(ktrdr.CodeInternal, "%s: %d %s", what, res.StatusCode, answer)
	}
	return answer, err
}
