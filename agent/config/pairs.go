package config

import (
	"go.yaml.in/yaml/v3"

	"github.com/kubeloupe/kubeloupe/agent/yamlfield"
)

// maxMergeDepth limits chains of YAML merge keys (<<), which may refer to themselves.
const maxMergeDepth = 10

// pair is one entry of a mapping.
type pair struct {
	key   string
	line  int
	value *yaml.Node
}

// pairs lists the entries of a mapping, with merge keys expanded (an explicit key takes precedence over a merged one).
// It reports keys that are set twice or are not strings.
func (d *decoder) pairs(n *yaml.Node, path string) []pair {
	if n.Kind != yaml.MappingNode {
		d.problem(n.Line, path, "%s is not a mapping", show(n))
		return nil
	}
	return d.expand(n, path, 0)
}

func (d *decoder) expand(n *yaml.Node, path string, depth int) []pair {
	var own, merged []pair
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := yamlfield.Resolve(n.Content[i]), n.Content[i+1]
		if d.nodes++; d.nodes > maxNodes {
			return own
		}
		switch {
		case k == nil || k.Kind != yaml.ScalarNode:
			d.problem(n.Content[i].Line, path, "a key must be a plain word or a string")
		case k.ShortTag() == "!!merge":
			merged = append(merged, d.merge(k, v, path, depth)...)
		case seen[k.Value] > 0:
			d.problem(k.Line, join(path, k.Value), "set twice; first on line %d", seen[k.Value])
		default:
			seen[k.Value] = k.Line
			own = append(own, pair{k.Value, k.Line, v})
		}
	}
	for _, p := range merged {
		if seen[p.key] == 0 {
			seen[p.key] = p.line
			own = append(own, p)
		}
	}
	return own
}

// merge lists the entries of a merge key: one mapping, or a list of them, earlier ones first.
func (d *decoder) merge(key, v *yaml.Node, path string, depth int) []pair {
	n := yamlfield.Resolve(v)
	if depth >= maxMergeDepth {
		d.problem(key.Line, path, "merge keys (<<) are nested more than %d deep", maxMergeDepth)
		d.nodes = maxNodes // Report it once: a mapping that merges itself would repeat it.
		return nil
	}
	switch {
	case n != nil && n.Kind == yaml.MappingNode:
		return d.expand(n, path, depth+1)
	case n != nil && n.Kind == yaml.SequenceNode && depth < maxMergeDepth:
		var all []pair
		for _, item := range n.Content {
			all = append(all, d.merge(key, item, path, depth+1)...)
		}
		return all
	default:
		d.problem(key.Line, path, "a merge key (<<) takes a mapping or a list of mappings")
		return nil
	}
}
