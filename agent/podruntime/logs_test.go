package podruntime

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

func loggingPod() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"}}
}

// putLog writes a file into the log directory of the container web.
func putLog(t *testing.T, root, name string) {
	t.Helper()
	dir := filepath.Join(criconfig.PodLogDir(root, "shop", "web", "u1"), "web")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A log is linked if it exists. A link that cannot be created is logged, and is no Event.
func TestLinkLog(t *testing.T) {
	root, links, rec := t.TempDir(), t.TempDir(), tracetest.New(t)
	r := &run{Runtime: &Runtime{cfg: Config{Node: criconfig.Node{LogRoot: root}, LogLinks: links, Bus: rec.Bus()}}, pod: loggingPod()}
	link := filepath.Join(links, "web_shop_web-c1.log")
	r.linkLog("web", "c1", 0)
	if _, err := os.Lstat(link); !os.IsNotExist(err) {
		t.Errorf("a log that does not exist is linked: %v", err)
	}
	putLog(t, root, "0.log")
	for range 2 { // an agent that starts again may link it again
		r.linkLog("web", "c1", 0)
		if to, err := os.Readlink(link); err != nil || !strings.HasSuffix(to, "shop_web_u1/web/0.log") {
			t.Errorf("%q, %v", to, err)
		}
	}
	r.cfg.LogLinks = filepath.Join(links, "none")
	r.linkLog("web", "c1", 0)
	said := tracetest.Events[trace.Log](rec)
	if len(said) != 1 || !strings.HasPrefix(said[0].Message, "link the log of container web: symlink ") || len(rec.OfKind("node.event")) != 0 {
		t.Errorf("%+v", said)
	}
}

// Only names of logs count.
func TestAttemptsLogged(t *testing.T) {
	root := t.TempDir()
	for _, step := range []struct {
		name string
		want uint32
	}{{"notes", 0}, {"7", 0}, {"7.txt", 0}, {"x.log", 0}, {"99999999999.log", 0}, {"0.log", 1}, {"2.log.20260101-000000.gz", 3}, {"4.log", 5}, {"1.log", 5}} {
		putLog(t, root, step.name)
		if got := attemptsLogged(root, loggingPod(), "web"); got != step.want {
			t.Errorf("with %s: %d, want %d", step.name, got, step.want)
		}
	}
}
