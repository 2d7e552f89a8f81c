package containerdlog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/trace"
)

// box, app and prepare are ids.
var (
	box     = strings.Repeat("b0", 32)
	app     = strings.Repeat("a1", 32)
	prepare = strings.Repeat("c2", 32)
)

// start is a pod's start as containerd writes it: %[1]s is the pod's metadata, %[2]s and %[3]s those of two containers, %[4]s the end of the first.
const start = `time="2026-11-23T08:00:00.000000000Z" level=info msg="RunPodSandbox for %[1]s"
time="2026-11-23T08:00:00.500000000Z" level=info msg="RunPodSandbox for %[1]s returns sandbox id \"BOX\""
time="2026-11-23T08:00:00.600000000Z" level=info msg="PullImage \"r/i:1\""
time="2026-11-23T08:00:01.590000000Z" level=info msg="Pulled image \"r/i:1\" with image id \"sha256:12\", repo tag \"r/i:1\", repo digest \"r/i@sha256:34\", size \"1149552\" in 900ms"
time="2026-11-23T08:00:01.600000000Z" level=info msg="PullImage \"r/i:1\" returns image reference \"sha256:12\""
time="2026-11-23T08:00:01.610000000Z" level=info msg="CreateContainer within sandbox \"BOX\" for container %[2]s"
time="2026-11-23T08:00:01.700000000Z" level=info msg="CreateContainer within sandbox \"BOX\" for %[2]s returns container id \"PREPARE\""
time="2026-11-23T08:00:01.710000000Z" level=info msg="StartContainer for \"PREPARE\""
time="2026-11-23T08:00:01.800000000Z" level=info msg="StartContainer for \"PREPARE\" returns successfully"
time="2026-11-23T08:00:03.100000000Z" level=info msg="%[4]s"
time="2026-11-23T08:00:04.000000000Z" level=info msg="CreateContainer within sandbox \"BOX\" for container %[3]s"
time="2026-11-23T08:00:04.100000000Z" level=info msg="CreateContainer within sandbox \"BOX\" for %[3]s returns container id \"APP\""
time="2026-11-23T08:00:04.110000000Z" level=info msg="StartContainer for \"APP\""
time="2026-11-23T08:00:04.200000000Z" level=info msg="StartContainer for \"APP\" returns successfully"
time="2026-11-23T08:00:40.000000000Z" level=info msg="StopContainer for \"APP\" with timeout 30 (s)"
time="2026-11-23T08:00:41.000000000Z" level=info msg="StopContainer for \"APP\" returns successfully"
time="2026-11-23T08:00:41.100000000Z" level=info msg="StopPodSandbox for \"BOX\""
time="2026-11-23T08:00:41.300000000Z" level=info msg="StopPodSandbox for \"BOX\" returns successfully"
time="2026-11-23T08:01:00.000000000Z" level=info msg="RemovePodSandbox for \"BOX\""
time="2026-11-23T08:01:00.100000000Z" level=info msg="RemovePodSandbox \"BOX\" returns successfully"
`

// want is what each form of it tells.
var want = []string{
	"0s begin shop/web sandbox",
	"500ms end(500ms) shop/web sandbox",
	"600ms begin shop/web pull r/i:1 0",
	"600ms begin shop/web image prepare",
	"1.6s end(1s) shop/web pull r/i:1 1149552",
	"1.6s end(1s) shop/web image prepare",
	"1.61s begin shop/web create prepare",
	"1.7s end(90ms) shop/web create prepare",
	"1.71s begin shop/web start prepare",
	"1.8s end(90ms) shop/web start prepare",
	"1.8s begin shop/web wait init prepare",
	"3s point shop/web died prepare",
	"3s end(1.2s) shop/web wait init prepare",
	"4s begin shop/web create app",
	"4.1s end(100ms) shop/web create app",
	"4.11s begin shop/web start app",
	"4.2s end(90ms) shop/web start app",
	"4.2s point shop/web started",
	"40s begin shop/web kill app",
	"40s begin shop/web wait grace app",
	"41s end(1s) shop/web wait grace app",
	"41s end(1s) shop/web kill app",
	"41.1s begin shop/web stop-sandbox",
	"41.3s end(200ms) shop/web stop-sandbox",
	"1m0s begin shop/web remove-sandbox",
	"1m0.1s end(100ms) shop/web remove-sandbox",
	"1m0.1s point shop/web gone",
}

var t0 = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// folded reads a log and returns its records.
func folded(t *testing.T, log string) (out []trace.Record) {
	t.Helper()
	f := containerdlog.NewFold(containerdlog.Options{})
	last := int64(0)
	drain := func(all bool) {
		for {
			r, lost, ok := f.Next(all)
			if !ok {
				return
			}
			if lost > 0 {
				out = append(out, trace.Record{Time: r.Time, Event: &trace.Log{Message: fmt.Sprint(lost, " missing")}})
			}
			if r.Observer != trace.ObserverRuntimeLog || r.Time < last {
				t.Errorf("record %d: by %v, %v after the last", r.Seq, r.Observer, time.Duration(r.Time-last))
			}
			last = r.Time
			out = append(out, r)
		}
	}
	for line := range strings.Lines(log) {
		if l, ok := containerdlog.ParseLine(line); ok {
			f.Apply(&l)
		}
		drain(false)
	}
	f.Flush()
	drain(true)
	return out
}

// records are the records of a log in words, the calls below actions left out.
func records(t *testing.T, log string) (out []string) {
	t.Helper()
	for _, r := range folded(t, log) {
		if s := words(&r); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func words(r *trace.Record) string {
	s := r.At().Sub(t0).String() + " " + r.Edge.String()
	if r.Edge == trace.EdgeEnd {
		s += "(" + r.Dur.String() + ")"
	}
	s += " " + r.Pod.String() + " "
	switch e := r.Event.(type) {
	case *trace.Action:
		s += strings.TrimSpace(e.ID + " " + e.Err)
	case *trace.CRICall:
		if r.Parent != 0 {
			return ""
		}
		s += e.Method
	case *trace.ImagePull:
		s += strings.TrimSpace(fmt.Sprint("pull ", e.Image, " ", e.Bytes, " ", e.Err))
	case *trace.Wait:
		s += fmt.Sprint("wait ", e.For, " ", e.Target.Name)
	case *trace.Milestone:
		s += string(e.Name)
	case *trace.PLEGEvent:
		s += "died " + e.Name
	case *trace.RuntimeSpan:
		s += strings.TrimSpace(fmt.Sprint("network ", e.Dur, " ", e.Err))
	case *trace.Log:
		s += "log " + e.Message
	}
	return s
}

func filled(args ...any) string {
	return strings.NewReplacer("BOX", box, "APP", app, "PREPARE", prepare).Replace(fmt.Sprintf(start, args...))
}

// TestForms reads a start in the forms of containerd 2 and 1, in text and in JSON.
func TestForms(t *testing.T) {
	exit2 := `received container exit event container_id:\"PREPARE\" id:\"PREPARE\" pid:7 exited_at:{seconds:1795420803}`
	exit1 := `TaskExit event &TaskExit{ContainerID:PREPARE,ID:PREPARE,Pid:7,ExitStatus:0,ExitedAt:2026-11-23 08:00:03 +0000 UTC,XXX_unrecognized:[],}`
	modern := filled(`name:\"web\"  uid:\"u1\"  namespace:\"shop\"`, `name:\"prepare\"`, `name:\"app\"  attempt:1`, exit2)
	var inJSON strings.Builder
	for line := range strings.Lines(modern) {
		at, rest, _ := strings.Cut(strings.TrimPrefix(line, `time=`), ` level=info msg=`)
		fmt.Fprintf(&inJSON, "{\"level\":\"info\",\"msg\":%s,\"time\":%s}\n", strings.TrimSpace(rest), at)
	}
	for name, log := range map[string]string{
		"2.x":  modern,
		"1.x":  filled(`&PodSandboxMetadata{Name:web,Uid:u1,Namespace:shop,Attempt:0,}`, `&ContainerMetadata{Name:prepare,Attempt:0,}`, `&ContainerMetadata{Name:app,Attempt:1,}`, exit1),
		"JSON": inJSON.String(),
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, records(t, log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailures: a call that failed says how, a pull that two pods may have asked for is nobody's, and a gap ends nothing.
func TestFailures(t *testing.T) {
	meta := func(name string) string { return `name:\"` + name + `\" uid:\"u-` + name + `\" namespace:\"shop\"` }
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"a sandbox that failed": {
			`time="2026-11-23T08:00:00Z" level=info msg="RunPodSandbox for ` + meta("a") + `"
time="2026-11-23T08:00:01Z" level=error msg="RunPodSandbox for ` + meta("a") + ` failed, error" error="rpc error: code = DeadlineExceeded desc = slow\x1b[31m"
`,
			[]string{"0s begin shop/a sandbox", `1s end(1s) shop/a sandbox rpc error: code = DeadlineExceeded desc = slow\u001b[31m`},
		},
		"two pods that may pull": {
			strings.ReplaceAll(`time="2026-11-23T08:00:00Z" level=info msg="RunPodSandbox for `+meta("a")+`"
time="2026-11-23T08:00:00Z" level=info msg="RunPodSandbox for `+meta("b")+`"
time="2026-11-23T08:00:01Z" level=info msg="RunPodSandbox for `+meta("a")+` returns sandbox id \"BOX\""
time="2026-11-23T08:00:01Z" level=info msg="RunPodSandbox for `+meta("b")+` returns sandbox id \"BOX1\""
time="2026-11-23T08:00:02Z" level=info msg="PullImage \"x\""
time="2026-11-23T08:00:03Z" level=info msg="PullImage \"x\" returns image reference \"y\""
time="2026-11-23T08:00:03Z" level=info msg="CreateContainer within sandbox \"BOX\" for container name:\"c\""
`, "BOX", box),
			[]string{
				"0s begin shop/a sandbox", "0s begin shop/b sandbox", "1s end(1s) shop/a sandbox", "1s end(1s) shop/b sandbox",
				"2s begin  pull x 0", "3s end(1s)  pull x 0", "3s begin shop/a create c",
			},
		},
		"times that go back": {
			`time="2026-11-23T08:10:00Z" level=info msg="RunPodSandbox for ` + meta("a") + `"
time="2026-11-23T08:00:00Z" level=warning msg="other"
`, []string{"0s point  log 1 missing", "0s point  log other", "10m0s begin shop/a sandbox"},
		},
		"an end without a begin": {
			`time="2026-11-23T08:00:00Z" level=info msg="StartContainer for \"` + app + `\" returns successfully"` + "\n", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, records(t, c.log)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPulls: a pull is of the only pod that has reason to ask for one. A pod that runs for a while has none, unless it makes a container
// after it.
func TestPulls(t *testing.T) {
	meta := func(name string) string { return `name:\"` + name + `\" uid:\"u-` + name + `\" namespace:\"shop\"` }
	id := strings.Repeat
	line := func(at, msg string) string {
		return `time="2026-11-23T08:00:` + at + `Z" level=info msg="` + msg + "\"\n"
	}
	before := line("00", "RunPodSandbox for "+meta("runs")) + line("01", "RunPodSandbox for "+meta("runs")+` returns sandbox id \"`+id("a", 64)+`\"`) +
		line("01", `CreateContainer within sandbox \"`+id("a", 64)+`\" for container name:\"c\"`) +
		line("01", `CreateContainer within sandbox \"`+id("a", 64)+`\" for name:\"c\" returns container id \"`+id("b", 64)+`\"`) +
		line("01", `StartContainer for \"`+id("b", 64)+`\"`) + line("02", `StartContainer for \"`+id("b", 64)+`\" returns successfully`) +
		line("03", "RunPodSandbox for "+meta("new")) + line("04", "RunPodSandbox for "+meta("new")+` returns sandbox id \"`+id("c", 64)+`\"`) +
		line("05", `PullImage \"x\"`) + line("06", `PullImage \"x\" returns image reference \"y\"`)
	made := func(at, box string) string {
		return line(at, `CreateContainer within sandbox \"`+id(box, 64)+`\" for container name:\"d\"`)
	}
	for name, c := range map[string]struct{ log, want string }{
		"the new one":                   {made("06.1", "c"), "6s end(1s) shop/new image d"},
		"the one that runs makes one":   {made("06.1", "a") + made("06.2", "c"), ""},
		"one that is not known does":    {made("06.1", "e") + made("06.2", "c"), ""},
		"long after":                    {made("09", "c"), ""},
		"the one that runs does, later": {made("06.1", "c") + made("06.2", "a"), "6s end(1s) shop/new image d"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, r := range records(t, before+c.log) {
				if strings.Contains(r, "end") && strings.Contains(r, " image ") {
					got = r
				}
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestParseLine tells what is a runtime's line.
func TestParseLine(t *testing.T) {
	for line, ok := range map[string]bool{
		`time="2026-11-23T08:00:00.1Z" level=info msg="x" id=1`:             true,
		`time="2026-11-23T08:00:00Z" level=error msg=short error="a \"b\""`: true,
		`{"level":"info","msg":"x","time":"2026-11-23T08:00:00.1Z"}`:        true,
		`time="yesterday" level=info msg="x"`:                               false,
		`time="2026-11-23T08:00:00.1Z" level=info`:                          false,
		`I1123 08:00:00.000000 1 a.go:1] "SyncLoop ADD"`:                    false,
		`{"ts":1,"msg":"x"}`: false,
		`time="2026-11-23T08:00:00.1Z" level=info msg="` + strings.Repeat("x", 300<<10) + `"`: false,
	} {
		if _, got := containerdlog.ParseLine(line); got != ok {
			t.Errorf("%.60s: got %v", line, got)
		}
	}
}

// FuzzLines: whatever a log holds, it is read in bounded memory, and what comes out can be encoded.
func FuzzLines(f *testing.F) {
	f.Add(filled(`name:\"web\" uid:\"u1\" namespace:\"shop\"`, `name:\"prepare\"`, `name:\"app\"`, `shim disconnected`))
	f.Add(crioStart(0, "r1", box, uid1) + crioStart(100, "r2", app, uid2) + crioLine(700, "info", "r1 RunPodSandbox", "runSandbox: releasing pod sandbox name: x"))
	f.Add(crioLine(0, "debug", "r4 PullImage", "Request: &PullImageRequest{PodSandboxMetadata{Name:web,Uid:"+uid1+",Namespace:shop,") + crioLine(1, "info", "r4 PullImage", "Pulling image: x") +
		crioLine(2, "debug", "r4 PullImage", "Response error: x") + crioLine(3, "debug", "", "Found exit code for "+app+": 3"))
	f.Fuzz(func(t *testing.T, log string) {
		fold := containerdlog.NewFold(containerdlog.Options{Hold: time.Second})
		for line := range strings.Lines(log) {
			if l, ok := containerdlog.ParseLine(line); ok {
				fold.Apply(&l)
			}
		}
		fold.Flush()
		for {
			r, _, ok := fold.Next(true)
			if !ok {
				return
			}
			if _, err := r.AppendJSON(nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}
