package why

import (
	"iter"
	"runtime"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
)

// All explains cases in parallel and yields the reports in the order of the cases, each with its key. It holds only a
// few cases at a time.
func All[K any](cases iter.Seq2[K, *cause.Case]) iter.Seq2[K, *Report] {
	type answer struct {
		key    K
		report chan *Report
	}
	return func(yield func(K, *Report) bool) {
		workers := runtime.GOMAXPROCS(0)
		answers, stop := make(chan answer, 4*workers), make(chan struct{})
		ended := make(chan struct{})
		defer func() { <-ended }()
		defer close(stop)
		go func() {
			defer close(ended)
			defer close(answers)
			slots := make(chan struct{}, workers)
			for key, c := range cases {
				a := answer{key, make(chan *Report, 1)}
				select {
				case slots <- struct{}{}:
				case <-stop:
					return
				}
				go func() {
					defer func() { <-slots }()
					a.report <- Explain(c)
				}()
				select {
				case answers <- a:
				case <-stop:
					return
				}
			}
		}()
		for a := range answers {
			if !yield(a.key, <-a.report) {
				return
			}
		}
	}
}
