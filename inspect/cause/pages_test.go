package cause_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/nodecause"
)

var update = flag.Bool("update", false, "write the heads of the pages in docs/causes, and their index, anew from the rules")

const (
	pages    = "../../docs/causes"
	longPage = 45
	wide     = 120
)

// rules are all that have a page: of pods, and of the node.
func rules() []cause.Rule {
	all := cause.Rules()
	for _, r := range nodecause.Rules() {
		all = append(all, cause.Rule{ID: r.ID, Name: r.Name, About: r.About})
	}
	return all
}

// TestPages sees to it that each rule has a page that begins with what the rule says of itself, and that no page is left over.
func TestPages(t *testing.T) {
	var want []string
	for _, r := range rules() {
		want = append(want, r.ID+".md")
		path := filepath.Join(pages, r.ID+".md")
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		page := string(raw)
		at := strings.Index(page, "\n**Seen.** ")
		if at < 0 {
			t.Errorf("%s has no part Seen", path)
			continue
		}
		if made := head(r) + page[at:]; *update && made != page {
			write(t, path, made)
			page = made
		}
		if diff := gocmp.Diff(head(r), page[:strings.Index(page, "\n**Seen.** ")]); diff != "" {
			t.Errorf("%s begins with something else than its rule (-update writes it anew):\n%s", path, diff)
		}
		checkPage(t, path, page)
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Name() != "README.md" {
			got = append(got, e.Name())
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("pages that are wanted and that there are:\n%s", diff)
	}
	checkIndex(t)
	checkCopy(t, want)
}

// checkCopy compares the pages with their copy in the program.
func checkCopy(t *testing.T, names []string) {
	t.Helper()
	var all txtar.Archive
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(pages, name))
		if err != nil {
			t.Fatal(err)
		}
		all.Files = append(all.Files, txtar.File{Name: strings.TrimSuffix(name, ".md"), Data: raw})
	}
	made, path := string(txtar.Format(&all)), "../causepage/pages.txt"
	if *update {
		write(t, path, made)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(made, string(raw)); diff != "" {
		t.Errorf("%s is no copy of the pages (-update writes it anew):\n%s", path, diff)
	}
}

// checkPage sees to it that a page has all its parts, in order, and is short.
func checkPage(t *testing.T, path, page string) {
	t.Helper()
	last := -1
	for _, part := range []string{"Seen", "Evidence", "Cost", "Confidence", "Remedy", "Ruled out by", "Not this", "To produce it"} {
		at := strings.Index(page, "\n**"+part+".** ")
		if at <= last {
			t.Errorf("%s: part %q is missing or out of order", path, part)
		}
		last = at
	}
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	if len(lines) > longPage {
		t.Errorf("%s has %d lines, at most %d are wanted", path, len(lines), longPage)
	}
	for n, l := range lines {
		if len(l) > wide && !strings.HasPrefix(l, "    ") {
			t.Errorf("%s:%d is longer than %d", path, n+1, wide)
		}
	}
}

func checkIndex(t *testing.T) {
	t.Helper()
	var b strings.Builder
	b.WriteString(indexHead)
	seen := conditions(t)
	for _, r := range rules() {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s |\n", r.ID, r.ID, r.Name, cmp.Or(strings.Join(seen[r.ID], ", "), "scripted records only"))
	}
	path := filepath.Join(pages, "README.md")
	if *update {
		write(t, path, b.String())
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(b.String(), string(raw)); diff != "" {
		t.Errorf("%s is not as the rules are (-update writes it anew):\n%s", path, diff)
	}
}

const indexHead = `# Causes

What ` + "`kubeloupe why`" + ` can name, and ` + "`kubeloupe explain`" + ` shows. Written from the rules and from the tests (` + "`go test ./inspect/cause -run TestPages -update`" + `).

Each rule has tests with scripted records, both of what it reports and of near-misses. The last column says where a test also reproduces
the cause: on containerd; on a node of a cluster, which is containerd with Kubernetes' own control plane (both also in test/faultcorpus); on an agent with the simulated
runtime, but with the machine's real disk, processors and memory; or with one real part of the agent and otherwise scripted records.

The causes KN01 to KN05 lie in the node itself: ` + "`kubeloupe why node`" + ` names them, besides KL07, KL15, KL16 and KL22 to KL25.

| id | cause | reproduced on |
| --- | --- | --- |
`

var speaks = regexp.MustCompile(`\.(?:speaks|certain|finding)\(\w+, "(KL\d\d)"|\.(?:speaks|certain|finding)\("\w+", "(KL\d\d)"`)

// conditions are where test/causes makes what each rule speaks of, as the names of its files say, or test/e2e, and which causes test/faultcorpus
// realizes.
func conditions(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../test/causes/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d tests of conditions, %v", len(files), err)
	}
	drives, err := filepath.Glob("../../test/e2e/*_test.go") // the agent as a process
	if err != nil || len(drives) == 0 {
		t.Fatalf("%d tests of the agent, %v", len(drives), err)
	}
	files = append(files, drives...)
	out := map[string][]string{}
	for _, path := range files {
		where := "the simulated runtime"
		switch name := filepath.Base(path); {
		case strings.Contains(path, "/e2e/"):
			where = "containerd"
		case strings.HasPrefix(name, "upstream_"):
			continue // docs/attach.md has what is seen from outside
		case strings.HasPrefix(name, "containerd_"):
			where = "containerd"
		case strings.HasPrefix(name, "cluster_"):
			where = "a cluster"
		case strings.HasPrefix(name, "part_"):
			where = "a real part"
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range speaks.FindAllStringSubmatch(string(raw), -1) {
			if id := m[1] + m[2]; !slices.Contains(out[id], where) {
				out[id] = append(out[id], where)
			}
		}
	}
	faults, err := filepath.Glob("../../test/faultcorpus/*_test.go")
	if err != nil || len(faults) == 0 {
		t.Fatalf("%d files of faults, %v", len(faults), err)
	}
	for _, path := range faults {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		where := "containerd"
		if bytes.Contains(raw, []byte("cluster: true")) {
			where = "a cluster"
		}
		for _, m := range wanted.FindAllStringSubmatch(string(raw), -1) {
			if !slices.Contains(out[m[1]], where) {
				out[m[1]] = append([]string{where}, out[m[1]]...)
			}
		}
	}
	return out
}

// wanted finds the cause that a fault of test/faultcorpus, on containerd or a cluster, is about.
var wanted = regexp.MustCompile(`want: \[\]string\{"(KL\d\d)"`)

// head is how a rule's page begins.
func head(r cause.Rule) string {
	lines := []string{"# " + r.ID + ": " + r.Name, ""}
	line := ""
	for w := range strings.FieldsSeq(r.About) {
		if line != "" && len(line)+1+len(w) > wide {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+w, " ")
	}
	return strings.Join(slices.Concat(lines, []string{line, ""}), "\n")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
