package tui

import (
	"slices"
	"strings"
	"sync"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/tui/keys"
	"github.com/kubeloupe/kubeloupe/tui/style"
	"github.com/kubeloupe/kubeloupe/tui/views"
)

// shelf lists the views in the order of their tabs: the key that goes there, and
// how one is made. A view is known to ViewNames by its page's name.
var shelf = []struct {
	key  string
	make func(views.Look, *Config) views.Page
}{
	{"1", func(l views.Look, _ *Config) views.Page { return views.NewOverview(l) }},
	{"2", func(l views.Look, _ *Config) views.Page { return views.NewLoop(l) }},
	{"3", func(l views.Look, _ *Config) views.Page { return views.NewPods(l) }},
	{"4", func(l views.Look, _ *Config) views.Page { return views.NewCRI(l) }},
	{"5", func(l views.Look, _ *Config) views.Page { return views.NewGC(l) }},
	{"6", func(l views.Look, _ *Config) views.Page { return views.NewPod(l) }},
	{"7", func(l views.Look, c *Config) views.Page { return views.NewStep(l, c.Stepper) }},
	{"8", func(l views.Look, _ *Config) views.Page { return views.NewNode(l) }},
	{"9", func(l views.Look, _ *Config) views.Page { return views.NewLog(l) }},
	{"v", func(l views.Look, _ *Config) views.Page { return views.NewVolumes(l) }},
	{"u", func(l views.Look, _ *Config) views.Page { return views.NewStatus(l) }},
	{"p", func(l views.Look, _ *Config) views.Page { return views.NewProbes(l) }},
	{"o", func(l views.Look, _ *Config) views.Page { return views.NewSources(l) }},
	{"x", func(l views.Look, _ *Config) views.Page { return views.NewEviction(l) }},
	{"n", func(l views.Look, _ *Config) views.Page { return views.NewResources(l) }},
	{"r", func(l views.Look, _ *Config) views.Page { return views.NewStarts(l) }},
}

// ViewNames returns what Config.ViewName may be, in the order of the tabs.
func ViewNames() []string { return slices.Clone(viewNames()) }

// viewNames makes each view once: every command names them in its help.
var viewNames = sync.OnceValue(func() []string {
	look := newLook(style.New(false))
	var names []string
	for _, s := range shelf {
		names = append(names, viewName(s.make(look, &Config{})))
	}
	return names
})

func viewName(p views.Page) string { return strings.ToLower(p.Name()) }

// CheckView returns a *lookup.NotFoundError if Config.ViewName must not be name; "" is allowed.
func CheckView(name string) error {
	if name == "" {
		return nil
	}
	return lookup.Check("view", viewOf(name), ViewNames())
}

// viewOf is the name of the view that a user means: "workers" was the name of "pods".
func viewOf(name string) string {
	if name = strings.ToLower(name); name == "workers" {
		return "pods"
	}
	return name
}

// newLook returns what all pages share.
func newLook(th *style.Theme) views.Look {
	var digits []string
	for _, s := range shelf {
		digits = append(digits, s.key)
	}
	return views.Look{Theme: th, Keys: keys.New(digits...), Scene: &views.Scene{}}
}

// fill makes the tabs and remembers the pages that others open.
func (a *app) fill() {
	for _, s := range shelf {
		t := tab{digit: s.key, page: s.make(a.look, &a.cfg)}
		switch p := t.page.(type) {
		case *views.Pod:
			a.pod = p
		case *views.CRI:
			a.cri = p
		case *views.Step:
			a.step, t.quiet = p, a.cfg.Stepper == nil
		}
		a.tabs = append(a.tabs, t)
	}
}

// first is the tab to begin with.
func (a *app) first() int {
	for i, t := range a.tabs {
		switch {
		case a.cfg.ViewName != "" && viewName(t.page) == viewOf(a.cfg.ViewName),
			a.cfg.View > 0 && t.digit == string(rune('0'+a.cfg.View%10)):
			return i
		}
	}
	if a.cfg.Stepper != nil {
		return slices.IndexFunc(a.tabs, func(t tab) bool { return t.page == views.Page(a.step) })
	}
	return 0
}
