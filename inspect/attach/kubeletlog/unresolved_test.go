package kubeletlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestUnresolved reads the lines of a volume that the kubelet cannot begin with: they are one wait, which ends when it begins.
func TestUnresolved(t *testing.T) {
	const disk = ` for volume \"pvc-1\" (UniqueName: \"kubernetes.io/csi/d^v\") pod \"web\" (UID: \"11111111-2222-3333-4444-555555555555\") " pod="shop/web"`
	line := func(at, what, volume, err string) string {
		return fmt.Sprintf(`%s E %q err=%q pod="shop/web" volumeName=%q`, at, what, err, volume)
	}
	const (
		processing, bound = "Error processing volume", "error processing PVC shop/data: PVC is not bound"
		adding, driver    = "Failed to add volume to desiredStateOfWorld", "no volume plugin matched"
	)
	for name, c := range map[string]struct {
		log  []string
		want []string
		kept int // lines
	}{
		"a claim": {
			[]string{
				line("00:01.0", processing, "data", bound), line("00:01.1", processing, "data", bound),
				`00:01.2 I "operationExecutor.VerifyControllerAttachedVolume started ` + volumeA, line("00:05.0", processing, "data", bound),
				`00:05.1 I "operationExecutor.VerifyControllerAttachedVolume started` + disk,
			},
			[]string{"00:01.000 begin web pod.wait: backoff claim data", "00:05.100 end web pod.wait: backoff claim data 4.1s"},
			1,
		},
		"a volume": {
			[]string{line("00:01.0", adding, "a", driver), `00:05.0 I "operationExecutor.MountVolume started ` + volumeA},
			[]string{"00:01.000 begin web pod.wait: backoff volume a", "00:05.000 end web pod.wait: backoff volume a 4s", "00:05.000 begin web volume: setup a kubernetes.io/configmap"},
			0,
		},
		"two": {
			[]string{line("00:01.0", adding, "b", driver), line("00:01.0", processing, "data", bound), `00:05.0 I "operationExecutor.VerifyControllerAttachedVolume started` + disk},
			[]string{"00:01.000 begin web pod.wait: backoff volume b", "00:01.000 begin web pod.wait: backoff claim data", "00:05.000 end web pod.wait: backoff claim data 4s"},
			0,
		},
		"the pod ends": {
			[]string{line("00:01.0", processing, "data", bound), `00:05.0 I "SyncLoop DELETE" source="api" pods=["shop/web"]`, line("00:06.0", processing, "data", bound)},
			[]string{"00:01.000 begin web pod.wait: backoff claim data", "00:05.000 end web pod.wait: backoff claim data 4s", "00:05.000 web pod.milestone: terminating"},
			1,
		},
		"the pod has started": {
			[]string{`00:01.0 I "Observed pod startup duration" pod="shop/web" podStartE2EDuration="1s"`, line("00:02.0", processing, "data", bound)},
			[]string{"00:01.000 web pod.milestone: started", "00:01.000 web pod.milestone: ready"},
			2,
		},
		"directories": {
			[]string{`00:01.0 E "Unable to make pod data directories for pod" err="mkdir /x: no space left on device" pod="shop/web"`},
			[]string{"00:01.000 end web pod.action: dirs mkdir /x: no space left on device 0s"},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _, _ := all(t, lines(c.log...))
			kept := 0
			for i := range recs {
				if _, ok := recs[i].Event.(*trace.Log); ok && recs[i].Pod.Name == "web" {
					kept++
				}
			}
			if kept != c.kept {
				t.Errorf("%d lines are kept", kept)
			}
			if diff := cmp.Diff(c.want, told(recs)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	many := make([]string, 0, 3000)
	for i := range 3000 {
		many = append(many, line("00:01.0", processing, fmt.Sprint("v", i), bound))
	}
	recs, _, _ := all(t, lines(many...))
	if n := strings.Count(strings.Join(told(recs), "\n"), "begin"); n != 1024 {
		t.Errorf("%d waits", n)
	}
}
