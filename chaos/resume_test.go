package chaos_test

import (
	"net/http"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
)

func TestConcurrentResumes_OneWins(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Serve()
		worker := lab.Worker()
		id := lab.Submit(long())
		lab.Step(id, 25)
		worker.Kill()
		lab.Ends(id, ktrdr.Failed)

		const callers = 100
		answers := make(chan int, callers)
		for range callers {
			go func() { answers <- lab.TryResume(id) }()
		}
		count := map[int]int{}
		for range callers {
			count[<-answers]++
		}
		if count[http.StatusOK] != 1 || count[http.StatusConflict] != callers-1 {
			t.Errorf("100 resumes answered %v, want one 200 and 99 times 409", count)
		}
	})
}
