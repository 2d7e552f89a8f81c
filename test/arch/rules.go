package arch

import (
	"fmt"
	"slices"
	"strings"
)

// module is the path of the module that these rules are about.
const module = "github.com/kubeloupe/kubeloupe"

// A rule says what packages of one part of the tree may import of the others.
type rule struct {
	// part is a directory of the module; the rule is for all packages below.
	part string
	// may lists the parts that packages of this part may import, besides
	// their own. "agent" is what the agent is made of; "agent$" is package
	// agent itself, which assembles it.
	may []string
	// not lists import paths, with all below them, that are refused.
	not []string
}

// rules is the whole of it: DESIGN.md, "Who may import whom". Directories that
// are not here may not hold packages.
var rules = []rule{
	{part: "trace", not: []string{"k8s.io"}},
	{part: "agent", may: []string{"trace"}},
	{part: "inspect", may: []string{"trace"}},
	{part: "tui", may: []string{"trace", "inspect"}},
	{part: "cmd", may: []string{"trace", "agent", "agent$", "inspect", "tui"}},
	{part: "test", may: []string{"trace", "agent", "agent$", "inspect", "tui", "cmd"}},
}

// forbidden is what nobody imports.
var forbidden = []string{"k8s.io/kubernetes"}

// large is what the program does without: client-go's set of clients, and what uses it, links the types of every API group; with
// text/template and html/template, the linker keeps every method of every type. docs/size.md has the figures.
var large = []string{
	"k8s.io/apiserver", "k8s.io/client-go/kubernetes", "k8s.io/client-go/informers", "k8s.io/client-go/listers", "text/template", "html/template",
	"golang.org/x/net/trace",
}

// unlinked are packages that only tests import, though no file of theirs is a test.
var unlinked = []string{module + "/test", module + "/agent/kubeapi/fakeapi"}

// checkLarge returns why the package with the path from may not import the path to, because of the size of the program.
func checkLarge(from, to string) string {
	for _, l := range large {
		if within(to, l) && !slices.ContainsFunc(unlinked, func(u string) bool { return within(from, u) }) {
			return "the program does not link " + l
		}
	}
	return ""
}

// checkImport returns why the package with the path from may not import the
// path to, or the empty string. Tests may use what is in test/ besides.
func checkImport(from, to string, isTest bool) string {
	for _, f := range forbidden {
		if within(to, f) {
			return "nobody imports " + f
		}
	}
	if why := checkLarge(from, to); why != "" && !isTest {
		return why
	}
	r, ok := ruleOf(from)
	if !ok {
		return fmt.Sprintf("%s belongs to no part of the layout", from)
	}
	for _, n := range r.not {
		if within(to, n) {
			return fmt.Sprintf("%s imports nothing of %s", r.part, n)
		}
	}
	if !within(to, module) {
		return ""
	}
	if to == module+"/agent" {
		if from == to && isTest || slices.Contains(r.may, "agent$") { // its external tests import it
			return ""
		}
		return "nothing depends on the agent but cmd"
	}
	if within(to, module+"/"+r.part) {
		return ""
	}
	for _, m := range r.may {
		if within(to, module+"/"+m) {
			return ""
		}
	}
	if isTest && within(to, module+"/test") {
		return ""
	}
	if len(r.may) == 0 {
		return r.part + " imports nothing of ours"
	}
	return fmt.Sprintf("%s imports only %s of ours", r.part, strings.Join(r.may, ", "))
}

// ruleOf returns the rule for a package.
func ruleOf(pkg string) (rule, bool) {
	for _, r := range rules {
		if within(pkg, module+"/"+r.part) {
			return r, true
		}
	}
	return rule{}, false
}

// within says whether an import path is the given one or below it.
func within(path, of string) bool {
	return path == of || strings.HasPrefix(path, of+"/")
}
