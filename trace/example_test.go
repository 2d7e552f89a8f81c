package trace_test

import (
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// A component publishes each event once; readers subscribe.
func Example() {
	bus := trace.NewBus(0)
	cur := bus.Subscribe(trace.FromOldest)
	defer cur.Close()

	pod := trace.Span{Pod: trace.Pod{Namespace: "shop", Name: "cart"}}
	pull := trace.Begin(bus, pod, trace.ImagePull{Image: "docker.io/library/nginx:1.27"})
	trace.Point(bus, pull, trace.ImageProgress{Image: "docker.io/library/nginx:1.27", Done: 10 << 20, Total: 60 << 20})
	trace.End(bus, pull, trace.ImagePull{Image: "docker.io/library/nginx:1.27", Bytes: 60 << 20})

	recs, lost := cur.Poll(make([]trace.Record, 0, 64))
	for _, r := range recs {
		fmt.Println(r.Seq, r.Pod, r.Edge, r.Event.Kind(), r.Parent == pull.ID)
	}
	fmt.Println(lost, "lost")
	// Output:
	// 1 shop/cart begin image.pull false
	// 2 shop/cart point image.progress true
	// 3 shop/cart end image.pull false
	// 0 lost
}

// A record is one JSON object per line, in files, on sockets and on stdout.
func ExampleRecord_ParseJSON() {
	var r trace.Record
	line := `{"seq":7,"time":"2026-03-01T12:00:00.250000000Z","kind":"cri.call","edge":"end","dur_ns":250000000,` +
		`"pod":{"namespace":"shop","name":"cart"},"event":{"method":"RunPodSandbox","code":"OK"}}`
	if err := r.ParseJSON([]byte(line)); err != nil {
		fmt.Println(err)
		return
	}
	if call, ok := r.Event.(*trace.CRICall); ok {
		fmt.Printf("%s of %s took %s and ended at %s: %s\n", call.Method, r.Pod, r.Dur, r.At().UTC().Format(time.TimeOnly), call.Code)
	}
	// Output:
	// RunPodSandbox of shop/cart took 250ms and ended at 12:00:00: OK
}
