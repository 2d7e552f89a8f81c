package server

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// clause is a part of an Accept header.
type clause struct {
	form    string
	params  map[string]string
	quality float64
}

func (c *clause) matches(form string) bool {
	group, _, _ := strings.Cut(form, "/")
	return c.form == form || c.form == group+"/*" || c.form == "*/*"
}

// mostClauses limits what is read of an Accept header.
const mostClauses = 32

// accepted are the clauses of an Accept header, those first that the client likes best. One that cannot be read does not count.
func accepted(header string) []clause {
	var out []clause
	for part := range strings.SplitSeq(header, ",") {
		if len(out) == mostClauses {
			break
		}
		form, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		c := clause{form: form, params: params, quality: 1}
		if q, given := params["q"]; given {
			if c.quality, err = strconv.ParseFloat(q, 64); err != nil {
				c.quality = 1
			}
		}
		out = append(out, c)
	}
	sorting.Stable(out, func(a, b *clause) int { return cmp.Compare(b.quality, a.quality) })
	return out
}

// encode responds with an object in JSON or YAML.
func encode(w http.ResponseWriter, form string, code int, object any) {
	text, err := json.Marshal(object)
	if err == nil && form == "application/yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", form)
	w.WriteHeader(code)
	_, _ = w.Write(text) // a client that is gone needs no response
}
