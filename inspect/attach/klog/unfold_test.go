package klog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
)

// TestFolded reads an entry that a terminal folded, at any width: it is the same as the whole one.
func TestFolded(t *testing.T) {
	const head = "E1122 08:38:19.533699   30016 pod_workers.go:1324] "
	for _, body := range []string{
		`"Error syncing pod, skipping" err="failed to \"StartContainer\" for \"web\" with CrashLoopBackOff: \"back-off 10s\"" pod="shop/web" podUID="8095479d69a1412db48cde2103066654"`,
		`"Error syncing pod, skipping" err="no" pod="shop/web" podUID=d512bf3e-f215-4128-960a-0658f7e63c7c`,
	} {
		want, ok := klog.ParseText(head+body, clock())
		if !ok || want.Cut {
			t.Fatalf("%v %+v", ok, want)
		}
		for width := 12; width < len(body); width++ {
			var folded strings.Builder
			for rest := body; rest != ""; {
				n := min(width, len(rest))
				folded.WriteString(rest[:n])
				if rest = rest[n:]; rest != "" {
					folded.WriteByte('\n')
				}
			}
			got, _ := klog.ParseText(head+folded.String(), clock())
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("at width %d (-want +got):\n%s%s", width, folded.String(), diff)
			}
		}
	}
}

// TestNotFolded reads entries with other text below: that is none of theirs.
func TestNotFolded(t *testing.T) {
	const head = "E1122 08:38:19.533699   30016 a.go:1] "
	for name, c := range map[string]struct {
		text, pod, uid string
	}{
		"prose":           {`"m" pod="a/b" podUID=abc-1` + "\nand then we see", "a/b", "abc-1"},
		"a cut value":     {`"m" pod="a/b" podUID="abc-1` + "\nLet's look at it\n## Step 4", "a/b", "abc-1"},
		"several lines":   {`"m" err=<` + "\n\tx=\"1\n\ty\n >" + ` pod="a/b" podUID=abc-1`, "a/b", "abc-1"},
		"a prompt":        {`"m" pod="a/b" podUID=abc-1` + "\n$ x=1 y", "a/b", "abc-1"},
		"a cut in a text": {`"m" pod="a/b" podUID=abc-1 err="some` + "\nother text", "a/b", "abc-1"},
	} {
		e, ok := klog.ParseText(head+c.text, clock())
		if !ok || e.Get("pod") != c.pod || e.Get("podUID") != c.uid {
			t.Errorf("%s: %v pod %q, UID %q of %+v", name, ok, e.Get("pod"), e.Get("podUID"), e)
		}
	}
}
