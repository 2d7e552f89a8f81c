package podsource

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// held is the mux's pods of one source, by UID.
type held map[types.UID]entry

// entry is one pod: as the source delivered it, and as the mux passes it on.
type entry struct {
	given *v1.Pod
	pod   *v1.Pod
}

// diff has the changes of one SET. Its pods are copies.
type diff struct {
	remove, add, update, del, reconcile []*v1.Pod
	// duplicates were omitted because an earlier pod of the set has their full name or UID.
	duplicates []*v1.Pod
	// named are those of them that have the full name.
	named []*v1.Pod
}

// updates returns the changes in the order for a receiver: removed pods first, to make room for new ones.
func (d diff) updates() []Update {
	var list []Update
	for _, u := range []Update{
		{Op: OpRemove, Pods: d.remove},
		{Op: OpAdd, Pods: d.add},
		{Op: OpUpdate, Pods: d.update},
		{Op: OpDelete, Pods: d.del},
		{Op: OpReconcile, Pods: d.reconcile},
	} {
		if len(u.Pods) > 0 {
			list = append(list, u)
		}
	}
	return list
}

// merge compares a source's new set with its current pods. It changes neither. Upstream: pkg/kubelet/config/config.go,
// podStorage.merge.
func merge(old held, source string, pods []*v1.Pod, now time.Time) (held, diff) {
	next := make(held, len(pods))
	var d diff
	names := make(map[types.NamespacedName]struct{}, len(pods))
	for _, given := range pods {
		name := types.NamespacedName{Namespace: given.Namespace, Name: given.Name}
		_, sameName := names[name]
		if _, sameUID := next[given.UID]; sameName || sameUID {
			d.duplicates = append(d.duplicates, given)
			if sameName {
				d.named = append(d.named, given)
			}
			continue
		}
		names[name] = struct{}{}
		before, known := old[given.UID]
		switch {
		case !known:
			p := annotate(given, source, now.Format(time.RFC3339Nano))
			next[given.UID] = entry{given, p}
			d.add = append(d.add, p.DeepCopy())
			continue
		case before.given == given:
			next[given.UID] = before
			continue
		}
		p := annotate(given, source, before.pod.Annotations[podspec.AnnotationSeen])
		next[given.UID] = entry{given, p}
		changed := differ(before.given, given)
		switch {
		case changed && given.DeletionTimestamp != nil:
			d.del = append(d.del, p.DeepCopy())
		case changed:
			d.update = append(d.update, p.DeepCopy())
		case before.given.ResourceVersion != given.ResourceVersion || !equality.Semantic.DeepEqual(before.given.Status, given.Status):
			// Also if only the version is new, for example after our own write: the receiver then has the latest.
			d.reconcile = append(d.reconcile, p.DeepCopy())
		}
	}
	for uid, e := range old {
		if _, still := next[uid]; !still {
			d.remove = append(d.remove, e.pod.DeepCopy())
		}
	}
	sortByName(d.remove)
	return next, d
}

// annotate returns a copy of the pod with the mux's annotations.
func annotate(given *v1.Pod, source, seen string) *v1.Pod {
	p := given.DeepCopy()
	if p.Annotations == nil {
		p.Annotations = make(map[string]string, 2)
	}
	p.Annotations[podspec.AnnotationSource] = source
	p.Annotations[podspec.AnnotationSeen] = seen
	return p
}

// differ reports whether a and b differ in more than status, version or generation. Upstream:
// pkg/kubelet/config/config.go, podsDifferSemantically.
func differ(a, b *v1.Pod) bool {
	return !a.DeletionTimestamp.Equal(b.DeletionTimestamp) ||
		!equality.Semantic.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) ||
		!maps.Equal(a.Labels, b.Labels) ||
		!sameAnnotations(a.Annotations, b.Annotations) ||
		!equality.Semantic.DeepEqual(&a.Spec, &b.Spec) // last: it takes long
}

// sameAnnotations compares the annotations that are not the agent's own.
func sameAnnotations(a, b map[string]string) bool {
	return maps.Equal(foreign(a), foreign(b))
}

func foreign(annotations map[string]string) map[string]string {
	own := func(key, _ string) bool {
		return key == podspec.AnnotationSource || key == podspec.AnnotationSeen || key == podspec.AnnotationMirror
	}
	out := maps.Clone(annotations)
	maps.DeleteFunc(out, own)
	return out
}

func sortByName(pods []*v1.Pod) {
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}
