package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// conversation is one of the file.
type conversation struct {
	name      string
	sessions  []session
	questions []question
}

// session is a run of turns of one day. date is as the file spells it, at the time that it means, zero where it is spelled otherwise.
type session struct {
	name, date string
	at         time.Time
	turns      []turn
}

// turn is what one of the two speakers said.
type turn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
}

// question has the ids of the turns that answer it.
type question struct {
	text, category string
	evidence       []string
}

// dateForm is how the file spells the time of a session.
const dateForm = "3:04 pm on 2 January, 2006"

// parse reads the file.
func parse(data []byte) ([]conversation, error) {
	var file []struct {
		ID        string                     `json:"sample_id"`
		Said      map[string]json.RawMessage `json:"conversation"`
		Questions []struct {
			Text     string   `json:"question"`
			Evidence []string `json:"evidence"`
			Category int      `json:"category"`
		} `json:"qa"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var list []conversation
	for i, f := range file {
		c := conversation{name: fmt.Sprintf("conversation %d %s", i, f.ID)}
		known := map[string]bool{}
		for n := 1; n <= len(f.Said); n++ {
			name := fmt.Sprint("session_", n)
			said, ok := f.Said[name]
			if !ok {
				continue // the numbers have gaps
			}
			s := session{name: name}
			if err := json.Unmarshal(said, &s.turns); err != nil {
				return nil, fmt.Errorf("%s of conversation %d: %w", name, i, err)
			}
			if date, ok := f.Said[name+"_date_time"]; ok {
				if err := json.Unmarshal(date, &s.date); err != nil {
					return nil, fmt.Errorf("time of %s of conversation %d: %w", name, i, err)
				}
			}
			if at, err := time.Parse(dateForm, s.date); err == nil {
				s.at = at
			}
			for _, t := range s.turns {
				known[t.ID] = true
			}
			c.sessions = append(c.sessions, s)
		}
		for _, q := range f.Questions {
			evidence := turnIDs(q.Evidence, known)
			if len(evidence) > 0 {
				c.questions = append(c.questions, question{q.Text, strconv.Itoa(q.Category), evidence})
			}
		}
		list = append(list, c)
	}
	return list, nil
}

var (
	separators = regexp.MustCompile(`[;,\s]+`)
	turnID     = regexp.MustCompile(`^D:?(\d+):0*(\d+)$`)
)

// turnIDs returns the different turns that the evidence names. The file has several ids in one string, and spells some in odd ways.
func turnIDs(evidence []string, known map[string]bool) []string {
	var ids []string
	seen := map[string]bool{}
	for _, e := range evidence {
		for _, part := range separators.Split(e, -1) {
			m := turnID.FindStringSubmatch(part)
			if m == nil {
				continue
			}
			id := "D" + m[1] + ":" + m[2]
			if known[id] && !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// content is the text under which a turn is recorded: when, who, what, and what is to be seen on a picture that goes with it.
func (s session) content(t turn) string {
	var b strings.Builder
	if s.date != "" {
		b.WriteString(s.date + " ")
	}
	b.WriteString(t.Speaker + ": " + t.Text)
	if t.Caption != "" {
		b.WriteString(" [image: " + t.Caption + "]")
	}
	return b.String()
}
