package containerdlog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// crioLine is a line of CRI-O, so many milliseconds after the first. Of a call, which may be "", it has the id and the method.
func crioLine(ms int, level, call, msg string) string {
	id, method, ok := strings.Cut(call, " ")
	if ok {
		service := "RuntimeService"
		if method == "PullImage" {
			service = "ImageService"
		}
		call = fmt.Sprintf(" id=%s name=/runtime.v1.%s/%s", id, service, method)
	}
	at := fmt.Sprintf("2026-11-23T08:%02d:%02d.%03d000000Z", ms/60000, ms/1000%60, ms%1000)
	return fmt.Sprintf("time=%q level=%s msg=%q%s\n", at, level, msg, call)
}

// crioStart is the start of shop/web until its sandbox runs. CRI-O tells the pod's UID in between.
func crioStart(ms int, id, sandbox, uid string) string {
	got := "Got pod network &{Name:web Namespace:shop ID:" + sandbox + " UID:" + uid + " NetNS:/var/run/netns/x Networks:[]}"
	return crioLine(ms, "info", id+" RunPodSandbox", "Running pod sandbox: shop/web/POD") +
		crioLine(ms+100, "info", "", got) +
		crioLine(ms+100, "info", "", `Adding pod shop_web to CNI network "lab" (type=bridge)`) +
		crioLine(ms+400, "info", "", got) +
		crioLine(ms+400, "info", "", "Checking pod shop_web for CNI network lab (type=bridge)") +
		crioLine(ms+500, "info", id+" RunPodSandbox", "Ran pod sandbox "+sandbox+" with infra container: shop/web/POD")
}

const (
	uid1 = "11111111-2222-3333-4444-555555555555"
	uid2 = "22222222-2222-3333-4444-555555555555"
)

// TestCRIO reads what CRI-O writes of a start and of an end.
func TestCRIO(t *testing.T) {
	log := crioStart(0, "r1", box, uid1) +
		crioLine(600, "info", "r2 PullImage", "Pulling image: r/i:1") + crioLine(1600, "info", "r2 PullImage", "Pulled image: r/i@sha256:34") +
		crioLine(1700, "info", "r3 CreateContainer", "Creating container: shop/web/app") +
		crioLine(1800, "info", "r3 CreateContainer", "Created container "+app+": shop/web/app") +
		crioLine(1900, "info", "r4 StartContainer", "Starting container: "+app) +
		strings.TrimSpace(crioLine(2000, "info", "r4 StartContainer", "Started container")) + " PID=42 containerID=" + app + " description=shop/web/app sandboxID=" + box + "\n" +
		crioLine(20000, "info", "", "Checking image status: r/i:1") +
		crioLine(30000, "info", "r5 StopContainer", "Stopping container: "+app+" (timeout: 7s)") +
		crioLine(31000, "info", "r5 StopContainer", "Stopped container "+app+": shop/web/app") +
		crioLine(31100, "info", "r6 StopPodSandbox", "Stopping pod sandbox: "+box) + crioLine(31200, "info", "r6 StopPodSandbox", "Stopped pod sandbox: "+box) +
		crioLine(32000, "info", "r7 RemovePodSandbox", "Removing pod sandbox: "+box) + crioLine(32100, "info", "r7 RemovePodSandbox", "Removed pod sandbox: "+box)
	want := []string{
		"0s begin shop/web sandbox", "400ms point shop/web network 300ms", "500ms end(500ms) shop/web sandbox",
		"600ms begin shop/web pull r/i:1 0", "600ms begin shop/web image app", "1.6s end(1s) shop/web pull r/i:1 0", "1.6s end(1s) shop/web image app",
		"1.7s begin shop/web create app", "1.8s end(100ms) shop/web create app", "1.9s begin shop/web start app", "2s end(100ms) shop/web start app", "2s point shop/web started",
		"30s begin shop/web kill app", "30s begin shop/web wait grace app", "31s end(1s) shop/web wait grace app", "31s end(1s) shop/web kill app",
		"31.1s begin shop/web stop-sandbox", "31.2s end(100ms) shop/web stop-sandbox",
		"32s begin shop/web remove-sandbox", "32.1s end(100ms) shop/web remove-sandbox", "32.1s point shop/web gone",
	}
	if diff := cmp.Diff(want, records(t, log)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCRIOFailures: at info, CRI-O writes how it undoes a call that failed; at debug, the error, too.
func TestCRIOFailures(t *testing.T) {
	const call = "r1 RunPodSandbox"
	begin := crioLine(0, "info", call, "Running pod sandbox: shop/web/POD")
	undone := crioLine(900, "info", call, "runSandbox: removing pod sandbox from storage: "+box) + crioLine(1000, "info", call, "runSandbox: releasing pod sandbox name: k8s_web_shop_u_0")
	create := crioLine(0, "info", "r2 CreateContainer", "Creating container: shop/web/app")
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"undone": {
			begin + undone,
			[]string{"0s begin shop/web sandbox", "1s end(1s) shop/web sandbox CRI-O logs the reason only at its level debug"},
		},
		"with an error on the way": {
			create + crioLine(500, "error", "r2 CreateContainer", "Container creation error: no such file") +
				crioLine(700, "info", "r2 CreateContainer", "createCtr: releasing container name k8s_app_web_shop_u_0"),
			[]string{"0s begin shop/web create app", "500ms point  log Container creation error: no such file", "700ms end(700ms) shop/web create app Container creation error: no such file"},
		},
		"too late": {
			begin + crioLine(800, "info", call, "RunSandbox: context was either canceled or the deadline was exceeded: context deadline exceeded"),
			[]string{"0s begin shop/web sandbox", "800ms end(800ms) shop/web sandbox context deadline exceeded"},
		},
		"at debug": {
			begin + crioLine(100, "debug", call, "Sandbox ...") + undone + crioLine(1001, "debug", call, "Response error: no address is left"),
			[]string{"0s begin shop/web sandbox", "1.001s end(1.001s) shop/web sandbox no address is left"},
		},
		"a pull, at debug": {
			begin + crioLine(100, "info", call, "Ran pod sandbox "+box+" with infra container: shop/web/POD") +
				crioLine(200, "debug", "r4 PullImage", "Request: &PullImageRequest{Image:&ImageSpec{Image:r/i:1,},SandboxConfig:&PodSandboxConfig{Metadata:&PodSandboxMetadata{Name:web,Uid:"+uid1+",Namespace:shop,Attempt:0,},}}") +
				crioLine(200, "info", "r4 PullImage", "Pulling image: r/i:1") + crioLine(900, "debug", "r4 PullImage", "Response error: name unknown"),
			[]string{"0s begin shop/web sandbox", "100ms end(100ms) shop/web sandbox", "200ms begin shop/web pull r/i:1 0", "900ms end(700ms) shop/web pull r/i:1 0 name unknown"},
		},
		"an exit, at debug": {
			crioLine(0, "info", "r3 CreateContainer", "Created container "+app+": shop/web/app") + crioLine(500, "debug", "", "container exited and found: "+app) +
				crioLine(600, "debug", "r4 StartContainer", "Found exit code for "+app+": 3"),
			[]string{"500ms point shop/web died app"},
		},
		"another call": {
			begin + crioLine(1000, "info", "r9 RunPodSandbox", "runSandbox: releasing pod sandbox name: k8s_other_shop_u_0") +
				crioLine(1100, "info", call, "Ran pod sandbox "+box+" with infra container: shop/web/POD"),
			[]string{"0s begin shop/web sandbox", "1.1s end(1.1s) shop/web sandbox"},
		},
		"two of one container": {
			crioLine(0, "info", "r2 CreateContainer", "Created container "+app+": shop/web/app") + crioLine(100, "info", "r3 RemoveContainer", "Removing container: "+app) +
				crioLine(200, "info", "r4 RemoveContainer", "Removing container: "+app) + crioLine(500, "info", "r3 RemoveContainer", "Removed container "+app+": shop/web/app"),
			[]string{"100ms begin shop/web remove app", "200ms begin shop/web remove app", "500ms end(400ms) shop/web remove app"},
		},
		"one that has no end": { // of a start that failed, CRI-O writes nothing at info
			begin + crioLine(5000, "info", "r3 RunPodSandbox", "Running pod sandbox: shop/web/POD") +
				crioLine(5500, "info", "r3 RunPodSandbox", "Ran pod sandbox "+box+" with infra container: shop/web/POD"),
			[]string{"0s begin shop/web sandbox", "5s begin shop/web sandbox", "5.5s end(500ms) shop/web sandbox"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := records(t, c.log)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCRIOSameName: a pod is made again under its name before the sandbox of the earlier one is removed, as those of StatefulSets are. The UID tells
// them apart.
func TestCRIOSameName(t *testing.T) {
	box2 := strings.Repeat("b2", 32)
	log := crioStart(0, "r1", box, uid1) + crioStart(5000, "r2", box2, uid2) +
		crioLine(7000, "info", "r3 RemovePodSandbox", "Removing pod sandbox: "+box) + crioLine(7100, "info", "r3 RemovePodSandbox", "Removed pod sandbox: "+box)
	var got []string
	for _, r := range folded(t, log) {
		if s := words(&r); s != "" {
			got = append(got, r.Pod.UID[:1]+" "+s)
		}
	}
	want := []string{
		"1 0s begin shop/web sandbox", "1 400ms point shop/web network 300ms", "1 500ms end(500ms) shop/web sandbox",
		"2 5s begin shop/web sandbox", "2 5.4s point shop/web network 300ms", "2 5.5s end(500ms) shop/web sandbox",
		"1 7s begin shop/web remove-sandbox", "1 7.1s end(100ms) shop/web remove-sandbox", "1 7.1s point shop/web gone",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCRIOJSON: CRI-O writes whole seconds in JSON.
func TestCRIOJSON(t *testing.T) {
	all := folded(t, `{"level":"info","msg":"Running pod sandbox: shop/web/POD","time":"2026-11-23T08:00:00Z"}`+"\n")
	if len(all) == 0 || all[0].Precision.Duration() != time.Second {
		t.Errorf("got %v, want records with a precision of 1 s", all)
	}
}
