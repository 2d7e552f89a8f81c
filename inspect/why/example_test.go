package why_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace/jsonl"
)

// The output of `run -o json` explains why each pod started as it did.
func Example() {
	const lines = `
{"seq":1,"time":"2026-03-01T12:00:00.000000000Z","kind":"pod.milestone","pod":{"namespace":"shop","name":"cart","uid":"1"},"event":{"name":"seen","source":"file"}}
{"seq":2,"time":"2026-03-01T12:00:00.000000000Z","kind":"pod.action","edge":"begin","span":"0000000000000001","pod":{"namespace":"shop","name":"cart","uid":"1"},"event":{"id":"sandbox","verb":"sandbox"}}
{"seq":3,"time":"2026-03-01T12:00:00.200000000Z","kind":"pod.action","edge":"end","dur_ns":200000000,"span":"0000000000000001","pod":{"namespace":"shop","name":"cart","uid":"1"},"event":{"id":"sandbox","verb":"sandbox"}}
{"seq":4,"time":"2026-03-01T12:00:00.200000000Z","kind":"pod.milestone","pod":{"namespace":"shop","name":"cart","uid":"1"},"event":{"name":"started","since_ns":200000000}}
{"seq":5,"time":"2026-03-01T12:00:00.200000000Z","kind":"pod.milestone","pod":{"namespace":"shop","name":"cart","uid":"1"},"event":{"name":"ready","since_ns":200000000}}
`
	s := session.New(session.Options{})
	for rec, err := range jsonl.Read(strings.NewReader(lines)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		s.Apply(&rec)
	}
	for _, c := range s.Cases(time.Time{}) {
		report := why.Explain(c)
		fmt.Println(report.Pod, "started within", report.Start)
		for _, p := range report.Path {
			fmt.Println(p.Kind, p.Label, p.Dur)
		}
		fmt.Println(why.Brief(report))
	}
	// Output:
	// shop/cart started within 200ms
	// work sandbox 200ms
	// shop/cart started and was ready in 200ms: sandbox is the critical path: 200ms, 100 % of the start.
}
