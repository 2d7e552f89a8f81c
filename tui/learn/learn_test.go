package learn

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// constants returns the values of string constants of a type, as a directory's source declares them: a kind that is
// added later without a lesson fails here.
func constants(t *testing.T, dir, typ string) []string {
	t.Helper()
	var out []string
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			id, named := v.Type.(*ast.Ident)
			lit, text := v.Values[0].(*ast.BasicLit)
			if named && text && id.Name == typ {
				if s, err := strconv.Unquote(lit.Value); err == nil {
					out = append(out, s)
				}
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("no constant of type %s in %s", typ, dir)
	}
	return out
}

func root(parts ...string) string { return filepath.Join(append([]string{"..", ".."}, parts...)...) }

func TestEveryVerbHasALesson(t *testing.T) {
	for _, verb := range constants(t, root("trace"), "Verb") {
		if _, ok := verbs[trace.Verb(verb)]; !ok {
			t.Errorf("no lesson about the verb %q", verb)
		}
	}
}

func TestEveryWaitHasALesson(t *testing.T) {
	for _, kind := range constants(t, root("trace"), "WaitKind") {
		if _, ok := waits[trace.WaitKind(kind)]; !ok {
			t.Errorf("no lesson about the wait %q", kind)
		}
	}
}

func TestEveryRowHasALesson(t *testing.T) {
	for _, kind := range constants(t, root("inspect", "waterfall"), "RowKind") {
		if l := Of(waterfall.Row{Kind: waterfall.RowKind(kind), Label: "unheard of", Verb: "unheard of", Wait: "unheard of"}); l.Text == "" || l != kinds[waterfall.RowKind(kind)] {
			t.Errorf("a row of kind %q: %+v", kind, l)
		}
	}
	for _, c := range []struct {
		row  waterfall.Row
		want string
	}{
		{waterfall.Row{Kind: waterfall.RowAction, Label: "cgroup · dirs", Verb: trace.VerbCgroup}, "cgroup"},
		{waterfall.Row{Kind: waterfall.RowCall, Label: "RunPodSandbox"}, "sandbox"},
		{waterfall.Row{Kind: waterfall.RowOp, Label: "readiness probe"}, "readiness probe"},
		{waterfall.Row{Kind: waterfall.RowWait, Wait: trace.WaitQueue}, "wait in the queue"},
		{waterfall.Row{Kind: waterfall.RowSpan, Label: "CNI plugin bridge", Topic: waterfall.TopicCNI}, "CNI"},
		{waterfall.Row{Kind: waterfall.RowSpan, Label: "fetch layer", Topic: waterfall.TopicFetch}, "fetch"},
		{waterfall.Row{Kind: waterfall.RowSpan, Label: "registry token", Topic: waterfall.TopicRegistry}, "registry"},
		{waterfall.Row{Kind: waterfall.RowSpan, Label: "shim starts task", Topic: waterfall.TopicTask}, "task"},
	} {
		if got := Of(c.row).Title; got != c.want {
			t.Errorf("%s %s: %q, want %q", c.row.Kind, c.row.Label, got, c.want)
		}
	}
}

func TestSegments(t *testing.T) {
	for part, want := range map[waterfall.Part]string{
		{Verb: trace.VerbImage, Pull: true}: "image", {Verb: trace.VerbSandbox}: "sandbox", {Verb: trace.VerbCreate, ID: "create web"}: "create",
		{Kind: waterfall.SegmentWait, Wait: trace.WaitQueue}: "wait in the queue", {Probe: "readiness"}: "readiness probe",
		{Kind: waterfall.SegmentUnexplained}: "unexplained", {Verb: "unheard of"}: "step",
	} {
		if got := Segment(part).Title; got != want {
			t.Errorf("%s: %q, want %q", part.Label(), got, want)
		}
	}
}

// TestTopics: each topic of the runtime's spans has a lesson.
func TestTopics(t *testing.T) {
	for _, topic := range []waterfall.Topic{
		waterfall.TopicCNI, waterfall.TopicNamespace, waterfall.TopicUnpack, waterfall.TopicFetch, waterfall.TopicRegistry, waterfall.TopicTask, waterfall.TopicShim,
	} {
		if spans[topic].Title == "" {
			t.Errorf("no lesson about %s", topic)
		}
	}
}

// read is what lessons may point to.
var read = regexp.MustCompile(`KEP-\d+|kubernetes\.io/docs/[a-z0-9./#-]+|github\.com/[a-z-]+/[a-z-]+|docs/[a-z]+\.md`)

func TestLessonsAreShort(t *testing.T) {
	check := func(name string, l Lesson) {
		end := regexp.MustCompile(`[.](?: |$)`)
		if n := len(end.FindAllString(l.Text, -1)); n < 2 || n > 4 || l.Title == "" || !read.MatchString(l.Read) {
			t.Errorf("%s: %d sentences, want 2 to 4: %+v", name, n, l)
		}
		if len(l.Text) > 280 || len(l.Read) > 100 {
			t.Errorf("%s: %d bytes and %d to read: too long for a small screen", name, len(l.Text), len(l.Read))
		}
	}
	for k, l := range concepts {
		check(k, l)
	}
	for k, l := range kinds {
		check(string(k), l)
	}
	check("unexplained", unexplained)
	for k, l := range verbs {
		check(string(k), l)
	}
	for k, l := range waits {
		check(string(k), l)
	}
	for k, l := range calls {
		check(k, l)
	}
	for k, l := range ops {
		check(k, l)
	}
	for k, l := range spans {
		check(string(k), l)
	}
}
