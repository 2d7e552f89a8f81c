package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics are the facts of an exposition in Prometheus' text format: of each family its type, the names of its labels, and the number of its buckets.
// Of labels in told, each value is a fact; of families about pods, each container is, and the sandbox.
func (s spoken) metrics(body []byte, told []string) (facts, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out := facts{}
	for name, f := range families {
		labels, subjects := map[string]bool{}, map[string]bool{}
		buckets := 0
		for _, m := range f.Metric {
			of := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()], of[l.GetName()] = true, s.text(l.GetValue())
				if slices.Contains(told, l.GetName()) {
					subjects[l.GetName()+"="+of[l.GetName()]] = true
				}
			}
			if of["namespace"] != "" && of["pod"] != "" {
				subjects[strings.TrimSuffix(of["namespace"]+"/"+of["pod"]+"/"+containerOf(of), "/")] = true
			} else if _, about := of["pod"]; about {
				subjects["no pod"] = true
			}
			buckets = max(buckets, len(m.GetHistogram().GetBucket()))
		}
		value := strings.ToLower(dto.MetricType_name[int32(f.GetType())])
		if len(labels) > 0 {
			value += fmt.Sprint(sortedKeys(labels, nil))
		}
		if buckets > 0 {
			value += fmt.Sprintf(", %d buckets", buckets)
		}
		out.add(name, value)
		for _, who := range sortedKeys(subjects, nil) {
			out.add(name+" of "+who, "yes")
		}
	}
	return out, nil
}

// containerOf is the container that a metric of cAdvisor is about. Only a pod's sandbox has a name without that of a container.
func containerOf(labels map[string]string) string {
	if labels["name"] != "" && labels["container"] == "" {
		return "SANDBOX"
	}
	return labels["container"]
}
