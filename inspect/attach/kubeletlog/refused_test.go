package kubeletlog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/trace"
)

// TestRefused: a pod that is refused because of the node's conditions says that the node is short, by the words of each version, and once.
func TestRefused(t *testing.T) {
	const (
		disk = ", and takes no pod that would need it"
		old  = `00:01.0 I "Failed to admit pod to node" pod="shop/web" nodeCondition=["DiskPressure"]`
		now  = `00:01.0 I "Pod admission denied" podUID="u1" pod="shop/web" reason="Evicted" message="The node had condition: [DiskPressure]. " operation="add"`
	)
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"1.37": {lines(now), []string{
			"shop/web admission reject shop/web Evicted: The node had condition: [DiskPressure]",
			" eviction short disk space : The node had condition: [DiskPressure]" + disk,
		}},
		"until 1.30": {lines(old), []string{
			`shop/web admission reject shop/web Evicted: the node has conditions ["DiskPressure"]`,
			` eviction short disk space : the node has conditions ["DiskPressure"]` + disk,
		}},
		"both": {lines(old, now), []string{
			`shop/web admission reject shop/web Evicted: the node has conditions ["DiskPressure"]`,
			` eviction short disk space : the node has conditions ["DiskPressure"]` + disk,
		}},
		"another condition": {lines(`00:01.0 I "Pod admission denied" podUID="u1" pod="shop/web" reason="Evicted" message="The node had condition: [MemoryPressure]. "`), []string{
			"shop/web admission reject shop/web Evicted: The node had condition: [MemoryPressure]",
			" eviction short memory : The node had condition: [MemoryPressure]" + disk,
		}},
		"another reason": {lines(`00:01.0 I "Pod admission denied" podUID="u1" pod="shop/web" reason="OutOfcpu" message="The node had condition: [MemoryPressure]. "`), []string{
			"shop/web admission reject shop/web OutOfcpu: The node had condition: [MemoryPressure]",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			recs, _, _ := all(t, c.log)
			var got []string
			for i := range recs {
				if d, ok := recs[i].Event.(*trace.Decision); ok {
					pod := ""
					if recs[i].Pod.Name != "" {
						pod = recs[i].Pod.String()
					}
					got = append(got, pod+" "+string(d.By)+" "+string(d.Verdict)+" "+d.Subject+" "+d.Code+": "+d.Reason)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
