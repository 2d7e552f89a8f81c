package arch

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHouse reads the whole module.
func TestHouse(t *testing.T) {
	pkgs, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	seen, reads, opened := map[string]bool{}, []string(nil), map[string]bool{}
	for _, p := range pkgs {
		if r, ok := ruleOf(p.path); ok {
			seen[r.part] = true
		}
		for _, f := range p.files {
			if !f.isTest && !within(p.path, module+"/test") {
				reads = append(reads, f.name)
				wrong, found := checkOpens(f.name, f.ast)
				opened[f.name] = found
				for _, why := range slices.Concat(wrong, checkReads(f.name, f.ast), checkInotify(f.name, f.ast), checkWide(p, f), checkColors(p.path, f.ast)) {
					t.Error(why)
				}
			}
			for _, to := range f.imports() {
				if why := checkImport(p.path, to, f.isTest); why != "" {
					t.Errorf("%s imports %s: %s", f.name, to, why)
				}
			}
		}
		if why := checkComment(p); why != "" {
			t.Error(why)
		}
		if within(p.path, module+"/agent") {
			for _, why := range checkGlobals(p) {
				t.Error(why)
			}
		}
	}
	for name := range wholeReads {
		if !slices.Contains(reads, name) {
			t.Errorf("test/arch/reads.go names %s, which is no file", name)
		}
	}
	for name := range opens {
		if !opened[name] {
			t.Errorf("test/arch/opens.go names %s, which opens nothing", name)
		}
	}
	for _, r := range rules { // else the walk missed something
		if !seen[r.part] {
			t.Errorf("no package found in %s", r.part)
		}
	}
}

func TestCheckColors(t *testing.T) {
	for _, c := range []struct {
		pkg, source string
		want        int
	}{
		{"/tui/views", `package p; import "charm.land/lipgloss/v2"; var _ = lipgloss.Red`, 1},
		{"/tui", `package p; import "image/color"; var _ = color.White`, 1},
		{"/tui", `package p; const red = "\x1b[31m"`, 1},
		{"/tui/table", `package p; import "charm.land/bubbles/v2/key"; var _ key.Binding`, 0},
		{"/tui/style", `package p; import "charm.land/lipgloss/v2"; var _ = lipgloss.Red`, 0},
		{"/cmd/kubeloupe", `package p; const red = "\x1b[31m"`, 0},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", c.source, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := checkColors(module+c.pkg, f); len(got) != c.want {
			t.Errorf("%s %s: %q, want %d", c.pkg, c.source, got, c.want)
		}
	}
}

func TestCheckImport(t *testing.T) {
	const (
		agent  = module + "/agent"
		worker = module + "/agent/worker"
		trace  = module + "/trace"
		step   = module + "/inspect/step"
		views  = module + "/tui/views"
		cmd    = module + "/cmd/kubeloupe"
		lab    = module + "/test/lab"
	)
	for _, c := range []struct {
		from, to string
		isTest   bool
		want     string
	}{
		{from: trace, to: "time"},
		{from: trace + "/printer", to: trace},
		{from: trace, to: worker, want: "trace imports nothing of ours"},
		{from: trace, to: step, want: "trace imports nothing of ours"},
		{from: trace + "/metrics", to: "k8s.io/api/core/v1", want: "trace imports nothing of k8s.io"},
		{from: worker, to: trace},
		{from: worker, to: module + "/agent/podspec"},
		{from: worker, to: "k8s.io/api/core/v1"},
		{from: worker, to: agent, want: "nothing depends on the agent but cmd"},
		{from: worker, to: agent, isTest: true, want: "nothing depends on the agent but cmd"},
		{from: worker, to: step, want: "agent imports only trace of ours"},
		{from: worker, to: step, isTest: true, want: "agent imports only trace of ours"},
		{from: worker, to: views, want: "agent imports only trace of ours"},
		{from: worker, to: lab, want: "agent imports only trace of ours"},
		{from: worker, to: lab, isTest: true},
		{from: agent, to: worker},
		{from: agent, to: agent, isTest: true},
		{from: step, to: trace + "/human"},
		{from: step, to: module + "/inspect/model"},
		{from: step, to: worker, want: "inspect imports only trace of ours"},
		{from: step, to: agent, want: "nothing depends on the agent but cmd"},
		{from: step, to: views, want: "inspect imports only trace of ours"},
		{from: views, to: step},
		{from: views, to: trace},
		{from: views, to: worker, want: "tui imports only trace, inspect of ours"},
		{from: views, to: agent, want: "nothing depends on the agent but cmd"},
		{from: cmd, to: agent},
		{from: cmd, to: worker},
		{from: cmd, to: views},
		{from: cmd, to: lab, want: "cmd imports only trace, agent, agent$, inspect, tui of ours"},
		{from: lab, to: agent},
		{from: lab, to: cmd},
		{from: lab, to: "k8s.io/kubernetes/pkg/kubelet", want: "nobody imports k8s.io/kubernetes"},
		{from: cmd, to: "k8s.io/kubernetes", isTest: true, want: "nobody imports k8s.io/kubernetes"},
		{from: cmd, to: "k8s.io/kubernetes-csi"},
		{from: agent, to: "k8s.io/apiserver/pkg/util/proxy", want: "the program does not link k8s.io/apiserver"},
		{from: cmd, to: "text/template", want: "the program does not link text/template"},
		{from: agent, to: "k8s.io/client-go/kubernetes/fake", isTest: true},
		{from: agent + "/kubeapi/fakeapi", to: "k8s.io/client-go/kubernetes/fake"},
		{from: lab, to: "k8s.io/client-go/kubernetes"},
		{from: module + "/agents", to: "time", want: module + "/agents belongs to no part of the layout"},
		{from: module, to: "time", want: module + " belongs to no part of the layout"},
	} {
		if got := checkImport(c.from, c.to, c.isTest); got != c.want {
			t.Errorf("%s imports %s (test: %t): %q, want %q", c.from, c.to, c.isTest, got, c.want)
		}
	}
}

func TestCheckComment(t *testing.T) {
	for _, c := range []struct{ name, path, src, want string }{
		{"a.go", "agent/a", "// Package a is.\npackage a", ""},
		{"a.go", "agent/a", "package a", module + "/agent/a has no package comment"},
		{"a.go", "agent/a", "// Package a is.\n\npackage a", module + "/agent/a has no package comment"},
		{"a.go", "agent/a", "// This is a.\npackage a", `a.go: the package comment should begin with "Package a "`},
		{"main.go", "cmd/x", "// Command x is.\npackage main", ""},
		{"main.go", "cmd/x", "// Package main is.\npackage main", `main.go: the package comment should begin with "Command x "`},
		{"a_test.go", "agent/a", "package a", ""},
	} {
		if got := checkComment(parse(t, c.path, c.name, c.src)); got != c.want {
			t.Errorf("%s\n%q, want %q", c.src, got, c.want)
		}
	}
}

func TestCheckReads(t *testing.T) {
	for _, c := range []struct {
		name, body string
		wrong      bool
	}{
		{"agent/a/a.go", `os.ReadFile("x")`, true},
		{"agent/host/host.go", `os.ReadFile("/proc/swaps")`, false},
		{"agent/a/a.go", `wholefile.Read("x", 1)`, false},
		{"cmd/a/a.go", `io.ReadAll(os.Stdin)`, true},
		{"agent/host/host.go", `io.ReadAll(r)`, true},
		{"inspect/a/a.go", `io.ReadAll(io.LimitReader(r, 1))`, false},
		{"inspect/a/a.go", `io.ReadAll(bufio.NewReader(io.LimitReader(r, 1)))`, true},
	} {
		p := parse(t, "a", "a.go", "package a\nfunc f() { "+c.body+" }")
		if got := checkReads(c.name, p.files[0].ast); (len(got) > 0) != c.wrong {
			t.Errorf("%s: %s: %q", c.name, c.body, got)
		}
	}
}

func TestCheckOpens(t *testing.T) {
	for _, c := range []struct {
		name, body string
		wrong      bool
	}{
		{"agent/a/a.go", `os.Open("x")`, true},
		{"agent/a/a.go", `filepath.WalkDir("x", nil)`, true},
		{"inspect/a/a.go", `f := os.ReadDir; f("x")`, true},
		{"agent/nodelock/nodelock.go", `os.OpenFile("x", 0, 0)`, false},
		{"agent/a/a.go", `os.Stat("x"); files.Open(ctx, "x")`, false},
		{"agent/cri/sim/a.go", `os.Open("x")`, false},
		{"cmd/a/a.go", `os.Open("x")`, false},
	} {
		p := parse(t, "a", "a.go", "package a\nfunc f() { "+c.body+" }")
		if got, _ := checkOpens(c.name, p.files[0].ast); (len(got) > 0) != c.wrong {
			t.Errorf("%s: %s: %q", c.name, c.body, got)
		}
	}
}

func TestCheckInotify(t *testing.T) {
	for name, want := range map[string]int{"agent/a/a.go": 2, "agent/inotify/a.go": 0, "inspect/a/a.go": 0} {
		p := parse(t, "a", "a.go", "package a\nfunc f() { unix.InotifyInit1(0); syscall.InotifyAddWatch(1, x, 2); unix.Read(1, nil) }")
		if got := checkInotify(name, p.files[0].ast); len(got) != want {
			t.Errorf("%s: got %q, want %d", name, got, want)
		}
	}
}

func TestCheckWide(t *testing.T) {
	fields := func(n int) string {
		return "struct {" + strings.Repeat("a, b int; ", n/2) + strings.Repeat("c int; ", n%2) + "}"
	}
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"type T " + fields(20), nil},
		{"type T " + fields(21), []string{`a.go:2: T has 21 fields, 20 at most without a reason: group them, or say why in a paragraph "Many fields: ..." of its comment`}},
		{"// T is wide.\n//\n// Many fields: one for each key.\ntype T " + fields(21), nil},
		{"// T is wide.\n//\n// Many fields:\ntype T " + fields(21), []string{`a.go:5: T has 21 fields, 20 at most without a reason: group them, or say why in a paragraph "Many fields: ..." of its comment`}},
		{"type (\n// T is wide.\n//\n// Many fields: one for each key.\nT " + fields(30) + ")", nil},
	} {
		p := parse(t, "a", "a.go", "package a\n"+c.src)
		if diff := cmp.Diff(c.want, checkWide(p, p.files[0])); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.src, diff)
		}
	}
}

func TestCheckGlobals(t *testing.T) {
	for _, c := range []struct {
		src  string
		want []string
	}{
		{"const a = 1; type b struct{}; func c() {}", nil},
		{"func (t T) init() {}; type T int", nil},
		{"func init() {}", []string{"a.go:2: init function"}},
		{`var ErrA, errB = errors.New("a"), fmt.Errorf("b")`, nil},
		{"var _ io.Writer = (*T)(nil)", nil},
		{"//go:embed x.txt\nvar x string", nil},
		{`var table = map[string]int{"a": 1}`, nil},
		{`var table = []string{"a"}; func f() { table := 1; table = 2; _ = table }`, nil},
		{"var cache map[string]int", []string{"a.go:2: cache is a global without a constant value"}},
		{"var (a = 1; mu sync.Mutex)", []string{"a.go:2: mu is a global without a constant value"}},
		{"var cache = make(map[string]int)", []string{"a.go:2: cache is a mutable global"}},
		{"var one = &T{}", []string{"a.go:2: one is a mutable global"}},
		{"var a, b = f()", []string{
			"a.go:2: a is a global without a constant value", "a.go:2: b is a global without a constant value",
		}},
		{"var n = 1\nfunc f() { n++ }", []string{"a.go:3: writes the global n"}},
		{"var n = 1\nfunc f() { other.n++; x.n = 2 }", nil},
		{"var n = 1\nfunc f() { g(&n) }", []string{"a.go:3: writes the global n"}},
		{"var t = T{}\nfunc f() { t.a.b = 1 }", []string{"a.go:3: writes the global t"}},
		{"var m = map[int]int{}\nfunc f() { m[1] = 2 }", []string{"a.go:3: writes the global m"}},
		{"var m = map[int]int{}\nfunc f() { (m)[1], x = 2, 3 }", []string{"a.go:3: writes the global m"}},
		{"var m = map[int]int{}\nfunc f() { delete(m, 1) }", []string{"a.go:3: writes the global m"}},
	} {
		if diff := cmp.Diff(c.want, checkGlobals(parse(t, "agent/a", "a.go", "package a\n"+c.src))); diff != "" {
			t.Errorf("%s\n(-want +got)\n%s", c.src, diff)
		}
	}
}

// TestLoad sees what it must and passes by what the go command passes by.
func TestLoad(t *testing.T) {
	root := t.TempDir()
	for name, src := range map[string]string{
		"go.mod":                "module " + module,
		"agent/a/a.go":          "package a\nimport \"io\"",
		"agent/a/a_windows.go":  "package a\nimport \"os\"",
		"agent/a/a_test.go":     "package a_test\nimport \"testing\"",
		"agent/a/testdata/x.go": "not Go",
		"agent/.git/x.go":       "not Go",
		"test/other/go.mod":     "module other",
		"test/other/x.go":       "package x",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pkgs {
		for _, f := range p.files {
			got = append(got, strings.Join(append([]string{p.path, f.name}, f.imports()...), " "))
		}
	}
	want := []string{
		module + "/agent/a agent/a/a.go io",
		module + "/agent/a agent/a/a_test.go testing",
		module + "/agent/a agent/a/a_windows.go os",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func parse(t *testing.T, dir, name, src string) pkg {
	t.Helper()
	p := pkg{path: module + "/" + dir, fset: token.NewFileSet()}
	f, err := parser.ParseFile(p.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p.files = []file{{name: name, isTest: strings.HasSuffix(name, "_test.go"), ast: f}}
	return p
}
