package causes_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/test/lab"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	fetchSpan   = "pkg.unpack.unpacker.fetchLayer"
	pullSpan    = "runtime.v1.ImageService/PullImage" // above fetchSpan, and told last
	networkSpan = "cni.setup_pod_network"
	sandboxSpan = "runtime.v1.RuntimeService/RunPodSandbox" // above networkSpan, and told last
)

// TestContainerdSlowNetwork: the registry sends 60 MiB at a rate of 20 MiB a second.
func TestContainerdSlowNetwork(t *testing.T) {
	b := containerd(t)
	b.forget(t, lab.Image60M)
	n := b.run(t)
	if err := b.SetLimits(t.Context(), lab.Limits{Rate: 20 << 20}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.SetLimits(context.WithoutCancel(t.Context()), lab.Limits{}) })
	n.set(b.pod("web", lab.Image60M))
	n.reached("web", "ready")
	if f := n.certain("web", "KL02", "60 MiB of the image"); f.Cost < 2*time.Second {
		t.Errorf("%+v", f)
	}
	n.silent("web", "KL01", "KL04", "KL05")
}

// TestContainerdFastPull: a small image from a registry that is near.
func TestContainerdFastPull(t *testing.T) {
	b := containerd(t)
	b.forget(t, lab.ImageHTTP)
	n := b.run(t)
	n.set(b.pod("web", lab.ImageHTTP))
	n.reached("web", "ready")
	took := n.spans("web", fetchSpan, 1)
	n.spans("web", pullSpan, 1)
	if took > 300*time.Millisecond {
		t.Skipf("a layer of 2 MiB took %v from the same machine: nothing is fast now", took)
	}
	n.silent("web", "KL02", "KL03", "KL07")
}

// TestContainerdSlowUnpack: 20,000 small files, which are quick to fetch.
func TestContainerdSlowUnpack(t *testing.T) {
	b := containerd(t)
	b.forget(t, lab.ImageSmallFiles)
	n := b.run(t)
	n.set(b.pod("web", lab.ImageSmallFiles))
	n.reached("web", "ready")
	fetched, pulled := n.spans("web", fetchSpan, 2), n.spans("web", pullSpan, 1)
	if pulled-fetched < 700*time.Millisecond {
		t.Skipf("the pull took %v and the fetch %v of it: this disk is quick", pulled, fetched)
	}
	n.certain("web", "KL03", "unpacking")
	if fetched < 300*time.Millisecond {
		n.silent("web", "KL02")
	}
}

// TestContainerdSlowPlugin: one plugin of the chain sleeps. Then it does not.
func TestContainerdSlowPlugin(t *testing.T) {
	b := containerd(t)
	n := b.run(t)
	b.plugin(t, "2.5") // a network of less than 2 s, on a machine that is busy itself, may be KL23's
	t.Cleanup(func() { b.plugin(t, "0") })
	slow := b.pod("slow", lab.ImageBusybox)
	n.set(slow)
	n.reached("slow", "ready")
	n.spans("slow", networkSpan, 1)
	n.spans("slow", "cni.plugin.tardy", 1)
	n.spans("slow", sandboxSpan, 1)
	f := n.certain("slow", "KL06", "the slowest plugin was tardy, which itself ran for ")
	if f.Cost < 2500*time.Millisecond || !strings.Contains(f.Remedy, "tardy") || !named(f, "run (ADD of eth0)") {
		t.Errorf("%+v", f)
	}
	n.silent("slow", "KL07", "KL14")
	n.claimsLess("slow", "KL15", 600*time.Millisecond)

	b.plugin(t, "0")
	n.set(slow, b.pod("quick", lab.ImageBusybox))
	n.reached("quick", "ready")
	n.spans("quick", sandboxSpan, 1)
	if took := n.spans("quick", networkSpan, 1); took > 250*time.Millisecond {
		t.Skipf("a network took %v: nothing is fast now", took)
	}
	n.silent("quick", "KL06", "KL07")
}

// TestContainerdPluginFails: one plugin of the chain finds no address at first.
func TestContainerdPluginFails(t *testing.T) {
	b := containerd(t)
	n := b.run(t)
	pluginFails(b, n)
	n.spans("web", "cni.plugin.tardy", 2)
	n.spans("web", sandboxSpan, 2)
	f := n.speaks("web", "KL07", "the CNI plugin tardy failed once")
	if !strings.Contains(f.Sentence, "no address is left") || !named(f, "saw the CNI plugin tardy run") {
		t.Errorf("%+v", f)
	}
	n.silent("web", "KL14", "KL08")
}

func pluginFails(b *bench, n *node) {
	n.t.Helper()
	b.plugin(n.t, "fail")
	n.t.Cleanup(func() { b.plugin(n.t, "0") })
	n.set(append(slices.Clone(n.pods), b.pod("web", lab.ImageBusybox))...)
	n.waits("web", trace.WaitBackoff)
	b.plugin(n.t, "0.5") // so that this run is seen, too
	n.reached("web", "ready")
}

// named reports whether the evidence of a finding says that.
func named(f *cause.Finding, text string) bool {
	return slices.ContainsFunc(f.Evidence, func(e cause.Evidence) bool { return strings.Contains(e.Text, text) })
}
