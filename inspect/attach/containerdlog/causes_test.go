package containerdlog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/session"
)

// slowCRIO is a start with CRI-O whose CNI plugin takes so many milliseconds.
func slowCRIO(ms int) string {
	got := "Got pod network &{Name:web Namespace:shop ID:" + box + " UID:" + uid1 + " NetNS:/var/run/netns/x Networks:[]}"
	return crioLine(0, "info", "r1 RunPodSandbox", "Running pod sandbox: shop/web/POD") + crioLine(500, "info", "", got) +
		crioLine(500, "info", "", `Adding pod shop_web to CNI network "lab" (type=bridge)`) + crioLine(500+ms, "info", "", got) +
		crioLine(3600, "info", "r1 RunPodSandbox", "Ran pod sandbox "+box+" with infra container: shop/web/POD") +
		crioLine(3700, "info", "r2 CreateContainer", "Creating container: shop/web/app") + crioLine(3800, "info", "r2 CreateContainer", "Created container "+app+": shop/web/app") +
		crioLine(3900, "info", "r3 StartContainer", "Starting container: "+app) + crioLine(4000, "info", "r3 StartContainer", "Started container "+app+": shop/web/app") +
		crioLine(30000, "info", "", "later")
}

// TestSlowNetwork: the time before the sandbox's shim is likely the network's; where the shim or an image took the time, it is not. CRI-O logs when
// its plugin began and ended.
func TestSlowNetwork(t *testing.T) {
	line := func(at, msg string) string {
		return `time="2026-11-23T08:00:` + at + `Z" level=info msg="` + strings.ReplaceAll(msg, `"`, `\"`) + "\"\n"
	}
	const meta = `name:"web" uid:"u1" namespace:"shop"`
	rest := line("04.100", `CreateContainer within sandbox "`+box+`" for container name:"app"`) +
		line("04.150", `CreateContainer within sandbox "`+box+`" for name:"app" returns container id "`+app+`"`) +
		line("04.160", `StartContainer for "`+app+`"`) + line("04.300", `StartContainer for "`+app+`" returns successfully`) + line("30", "later")
	begin, end := line("00", "RunPodSandbox for "+meta), line("04", "RunPodSandbox for "+meta+` returns sandbox id "`+box+`"`)
	pulled := line("03.4", `Pulled image "pause:3" with image id "x", repo tag "y", repo digest "z", size "1" in 3s`)
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"slow before the shim": {begin + line("03.5", "connecting to shim "+box) + end + rest, []string{"KL06"}},
		"slow after it":        {begin + line("00.2", "connecting to shim "+box) + end + rest, nil},
		"its image was pulled": {begin + pulled + line("03.5", "connecting to shim "+box) + end + rest, nil},
		"no line of a shim":    {begin + end + rest, nil},
		"CRI-O's plugin":       {slowCRIO(3000), []string{"KL06"}},
		"CRI-O's, fast":        {slowCRIO(200), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := containerdlog.NewFold(containerdlog.Options{}), session.New(session.Options{})
			for text := range strings.Lines(c.log) {
				if l, ok := containerdlog.ParseLine(text); ok {
					f.Apply(&l)
				}
			}
			f.Flush()
			for {
				r, _, ok := f.Next(true)
				if !ok {
					break
				}
				s.Apply(&r)
			}
			var got []string
			for _, l := range s.Runs() {
				for _, found := range cause.Find(s.Case(l, s.Last())) {
					got = append(got, found.ID)
					if crio := strings.HasPrefix(name, "CRI-O"); crio != (found.Confidence == cause.Certain) {
						t.Errorf("%s is %v", found.ID, found.Confidence)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
