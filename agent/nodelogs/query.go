package nodelogs

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Limits of a query. Upstream: pkg/kubelet/kubelet_server_journal.go, but for the pattern, which has no limit there.
const (
	maxTailLines = 100000
	maxName      = 256
	maxServices  = 4
	maxPattern   = 4096
)

// Query is what a client asks for: services with options, or one file.
type Query struct {
	// Services are names of units, without .service. File is relative to the log directory; "/" is the directory itself.
	Services []string
	File     string
	Options
}

// Options select lines of services. nil and "" select all.
type Options struct {
	Since, Until *time.Time
	// Tail is how many of the last lines are returned.
	Tail *int
	// Boot is 0 for this boot, -1 for the one before, and so on.
	Boot *int
	// Pattern is a regular expression of journalctl (PCRE2).
	Pattern string
}

// unsafeInName are the characters that no name of a service has. Names become arguments of journalctl.
var unsafeInName = regexp.MustCompile(`[^a-zA-Z\-_.:0-9@]`)

// Parse returns the query in the parameters of a request; nil if there is none. The error is for the client, with upstream's words.
func Parse(params url.Values) (*Query, error) {
	p := parser{params: params}
	q := p.query()
	if len(p.errs) == 0 && q != nil {
		p.validate(q)
	}
	if len(p.errs) > 0 {
		return nil, p.errs.ToAggregate()
	}
	if q == nil {
		return nil, nil //nolint:nilnil // no query is no error
	}
	q.Services = p.services
	if len(p.files) > 0 {
		q.File = cmp.Or(strings.TrimLeft(p.files[0], "/"), "/")
	}
	return q, nil
}

// parser collects what is wrong with the parameters.
type parser struct {
	params          url.Values
	errs            field.ErrorList
	services, files []string
}

func (p *parser) wrong(name string, value any, why string) {
	p.errs = append(p.errs, field.Invalid(field.NewPath(name), value, why))
}

// query reads the parameters; nil if none of them is one of a query.
func (p *parser) query() *Query {
	for _, name := range p.params["query"] {
		switch {
		case strings.ContainsAny(name, `/\`):
			p.files = append(p.files, name)
		case strings.TrimSpace(name) != "":
			p.services = append(p.services, name)
		}
	}
	_, asked := p.params["query"]
	if asked && len(p.files)+len(p.services) == 0 {
		p.wrong("query", p.params["query"], "may not be empty")
	}
	q := &Query{Options: Options{
		Since: p.time("sinceTime"), Until: p.time("untilTime"), Tail: p.number("tailLines"), Boot: p.number("boot"), Pattern: p.params.Get("pattern"),
	}}
	if !asked && q.Options == (Options{}) {
		return nil
	}
	return q
}

func (p *parser) time(name string) *time.Time {
	text := p.params.Get(name)
	if text == "" {
		return nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		p.wrong(name, text, "invalid time format")
		return nil
	}
	return &t
}

func (p *parser) number(name string) *int {
	text := p.params.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		p.wrong(name, text, err.Error())
		return nil
	}
	return &n
}

// validate checks the whole query.
func (p *parser) validate(q *Query) {
	for _, s := range p.services {
		switch {
		case len(s) > maxName:
			p.wrong("query", s[:maxName]+"...", fmt.Sprintf("length must be less than %d", maxName))
		case unsafeInName.MatchString(s):
			p.wrong("query", s, "input contains unsupported characters")
		}
	}
	if n := len(p.services); n > maxServices {
		p.errs = append(p.errs, field.TooMany(field.NewPath("query"), n, maxServices))
	}
	switch files, services := len(p.files), len(p.services); {
	case files == 0 && services == 0:
		p.errs = append(p.errs, field.Required(field.NewPath("query"), "cannot be empty with options"))
	case files > 0 && services > 0:
		p.wrong("query", fmt.Sprintf("%v, %v", p.files, p.services), "cannot specify a file and service")
	case files > 1:
		p.wrong("query", p.files, "cannot specify more than one file")
	case files == 1 && q.Options != (Options{}):
		p.wrong("query", p.files, "cannot specify file with options")
	}
	if q.Since != nil && q.Until != nil && q.Since.After(*q.Until) {
		p.wrong("untilTime", q.Until.Format(time.RFC3339), "must be after `sinceTime`")
	}
	if q.Boot != nil && *q.Boot > 0 {
		p.wrong("boot", *q.Boot, "must be less than 1")
	}
	if q.Tail != nil && (*q.Tail < 0 || *q.Tail > maxTailLines) {
		p.wrong("tailLines", *q.Tail, fmt.Sprintf("must be between 0 and %d, inclusive", maxTailLines))
	}
	if len(q.Pattern) > maxPattern {
		p.wrong("pattern", q.Pattern[:maxPattern]+"...", fmt.Sprintf("length must not exceed %d", maxPattern))
	} else if _, err := syntax.Parse(q.Pattern, syntax.Perl); err != nil {
		p.wrong("pattern", q.Pattern, err.Error())
	}
}
