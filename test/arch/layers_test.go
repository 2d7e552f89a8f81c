package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLayers compares the imports of agent/ with the table in docs/architecture.md, in both directions.
func TestLayers(t *testing.T) {
	top := filepath.Join("..", "..")
	doc, err := os.ReadFile(filepath.Join(top, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := readLayers(string(doc))
	if err != nil {
		t.Fatal("docs/architecture.md: ", err)
	}
	pkgs, err := load(top)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, p := range pkgs {
		if !within(p.path, module+"/agent") {
			continue
		}
		there[layerName(p.path)] = true
		if _, ok := all.of(p.path); !ok {
			t.Errorf("%s is in no layer: add it to the table in docs/architecture.md", p.path)
		}
		for _, f := range p.files {
			for _, to := range f.imports() {
				if why := all.check(p.path, to); why != "" && !f.isTest {
					t.Errorf("%s imports %s: %s", f.name, to, why)
				}
			}
		}
	}
	for _, l := range all {
		for _, name := range l.packages {
			if !there[name] {
				t.Errorf("docs/architecture.md has %q in the layer %q, and there is no such package", name, l.name)
			}
		}
	}
}

const layersTable = `Other | table |

Within ` + "`agent/`" + `, packages form layers; each imports
only from its own row and those above:

| | packages | |
| --- | --- | --- |
| pure | ` + "`qos` `pod`" + ` | values; ` + "`pod`" + ` is identity |
| of pods | ` + "`volume` `pleg`" + ` | |
| assembled | ` + "`agent`" + ` | |

Package ` + "`agent`" + ` is the wiring.
`

func TestReadLayers(t *testing.T) {
	got, err := readLayers(layersTable)
	want := layers{{"pure", []string{"qos", "pod"}}, {"of pods", []string{"volume", "pleg"}}, {"assembled", []string{"agent"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(layer{})); err != nil || diff != "" {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	for _, c := range []struct{ doc, want string }{
		{"", `no "Within`},
		{layersHeading + " in another way.", "no table after"},
		{layersHeading + ":\n\n| pure | `qos` |\n", "want | layer | packages | what they are |"},
		{strings.Replace(layersTable, "`pleg`", "`qos`", 1), `qos is in "pure" and in "of pods"`},
	} {
		if _, err := readLayers(c.doc); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q in it", c.doc, err, c.want)
		}
	}
}

func TestCheckLayer(t *testing.T) {
	all, err := readLayers(layersTable)
	if err != nil {
		t.Fatal(err)
	}
	const agent = module + "/agent"
	for _, c := range []struct{ from, to, want string }{
		{agent + "/pleg", agent + "/pod", ""},
		{agent + "/pleg", agent + "/volume", ""},
		{agent + "/volume/csi", agent + "/volume/files", ""},
		{agent, agent + "/pleg", ""},
		{agent + "/qos", module + "/trace", ""},
		{agent + "/qos", "k8s.io/api/core/v1", ""},
		{module + "/cmd/kubeloupe", agent, ""},
		{agent + "/pod", agent + "/volume/csi", `pod is of the layer "pure", which imports nothing of the layer "of pods", as docs/architecture.md lists them`},
		{agent + "/volume/csi", agent, `volume is of the layer "of pods", which imports nothing of the layer "assembled", as docs/architecture.md lists them`},
		{agent + "/new", agent + "/pod", "new is in no layer: add it to the table in docs/architecture.md"},
		{agent + "/pod", agent + "/new", "new is in no layer: add it to the table in docs/architecture.md"},
	} {
		if got := all.check(c.from, c.to); got != c.want {
			t.Errorf("%s imports %s: got %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
