package human

import "strings"

// Nearest returns the name that a wrong name probably means: one that begins with it or with which it begins, or that
// differs in at most half of its letters and in at most three. It is "" if there is none. Case does not matter.
func Nearest(wrong string, names []string) string {
	if len(wrong) > 64 {
		return ""
	}
	wrong = strings.ToLower(wrong)
	far := min(max(1, len(wrong)/2), 3)
	best, least := "", far+1
	for _, n := range names {
		small := strings.ToLower(n)
		d := Distance(wrong, small)
		if min(len(small), len(wrong)) > 2 && (strings.HasPrefix(small, wrong) || strings.HasPrefix(wrong, small)) {
			d = min(d, far)
		}
		if d < least {
			best, least = n, d
		}
	}
	return best
}

// Distance returns how many bytes must be inserted, removed or changed to get from a to b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
