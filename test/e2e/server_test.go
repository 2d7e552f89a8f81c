package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestServer asks the health endpoint and the read-only port of a node that runs a pod.
func TestServer(t *testing.T) {
	health, readOnly := freePort(t), freePort(t)
	n := newNode(t, "--healthz-port", strconv.Itoa(health), "--read-only-port", strconv.Itoa(readOnly), "--address", "127.0.0.1")
	a := n.start()
	n.put("web.yaml", web)
	a.ready("web")
	for _, at := range []struct {
		port int
		path string
	}{{health, "/healthz"}, {readOnly, "/healthz"}, {readOnly, "/healthz/syncloop"}} {
		if code, body := get(t, fmt.Sprintf("http://127.0.0.1:%d%s", at.port, at.path)); code != 200 || strings.TrimSpace(body) != "ok" {
			t.Errorf("%+v: %d %q", at, code, body)
		}
	}
	if code, _ := get(t, fmt.Sprintf("http://127.0.0.1:%d/healthz/syncloop", health)); code != 404 { // as upstream's
		t.Errorf("the health port has /healthz/syncloop: %d", code)
	}
	_, body := get(t, fmt.Sprintf("http://127.0.0.1:%d/pods", readOnly))
	var pods v1.PodList
	if err := json.Unmarshal([]byte(body), &pods); err != nil {
		t.Fatal(err)
	}
	if pods.Kind != "PodList" || pods.APIVersion != "v1" || len(pods.Items) != 1 {
		t.Fatalf("/pods: %s", body)
	}
	p := pods.Items[0]
	if p.Name != n.pod("web") || p.Status.Phase != v1.PodRunning || p.Status.PodIP == "" || len(p.Status.ContainerStatuses) != 1 || !p.Status.ContainerStatuses[0].Ready {
		t.Errorf("/pods: %s", body)
	}
	if want := "containerd://" + strings.Fields(n.runs("web")[0])[2]; p.Status.ContainerStatuses[0].ContainerID != want {
		t.Errorf("container id %s, want %s", p.Status.ContainerStatuses[0].ContainerID, want)
	}
	defer func() {
		if t.Failed() {
			t.Log(body)
		}
	}()
	wanted := []string{
		"kubelet_pod_start_duration_seconds_count 1\n", `kubelet_running_pods 1`, `kubelet_running_containers{container_state="running"} 1`,
		`kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1`, "kubelet_pod_worker_duration_seconds_count",
	}
	n.await("the metrics "+strings.Join(wanted, ", "), func() bool { // they follow the records, and the sync that started the pod may still run
		_, body = get(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", readOnly))
		return !slices.ContainsFunc(wanted, func(want string) bool { return !strings.Contains(body, want) })
	})
}
