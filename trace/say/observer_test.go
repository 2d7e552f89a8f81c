package say_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

func TestEveryObserverHasWords(t *testing.T) {
	for i, name := range trace.Observers() {
		if got := say.Observer(trace.Observer(i)); got == name || !strings.Contains(got, " ") {
			t.Errorf("%s: got %q, want words", name, got)
		}
	}
}

func TestSeenBy(t *testing.T) {
	for _, c := range []struct {
		rec  trace.Record
		want string
	}{
		{trace.Record{Event: &trace.Log{}}, ""},
		{trace.Record{Event: &trace.RuntimeSpan{}, Observer: trace.ObserverRuntimeSpan}, ""},
		{trace.Record{Event: &trace.RuntimeSpan{}, Observer: trace.ObserverKernel, Precision: trace.PrecisionOf(time.Millisecond)}, "seen by the kernel, within 1ms"},
		{trace.Record{Event: &trace.CRICall{}, Observer: trace.ObserverKubeletLog}, "seen by the kubelet's log"},
	} {
		if got := say.SeenBy(&c.rec); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
