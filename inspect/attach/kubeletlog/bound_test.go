package kubeletlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

// TestLivesAreBounded: a pod that is created again and again, of which a log at V0 has the errors alone, leaves a bounded number of lives.
func TestLivesAreBounded(t *testing.T) {
	f := NewFold()
	at := time.Unix(1000, 0)
	for i := range 2 * maxPods {
		at = at.Add(time.Second)
		f.Apply(&klog.Entry{Time: at, Severity: klog.Error, Msg: "Error syncing pod, skipping", Fields: []klog.Field{
			{Key: "err", Value: "x"}, {Key: "pod", Value: "shop/web-0"}, {Key: "podUID", Value: fmt.Sprint("u", i)},
		}})
		for _, _, ok := f.Next(false); ok; _, _, ok = f.Next(false) {
		}
	}
	if n := f.pods.order.Len(); n > maxPods || len(f.pods.byUID) > maxPods {
		t.Errorf("%d lives and %d UIDs are known, want at most %d", n, len(f.pods.byUID), maxPods)
	}
}
