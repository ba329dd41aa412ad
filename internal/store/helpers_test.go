package store_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"sakur4/internal/episode"
	"sakur4/internal/store"
	"sakur4/symbolic"
)

// writerVariable makes the test binary a writing process: see TestPitfall28KilledProcesses.
const writerVariable = "SAKUR4_TEST_STORE_WRITER"

func TestMain(m *testing.M) {
	if path := os.Getenv(writerVariable); path != "" {
		os.Exit(writerProcess(path, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// writerProcess appends the episodes from the first to the last number and says each id when it is recorded.
func writerProcess(path string, args []string) int {
	name := args[0]
	first, _ := strconv.Atoi(args[1])
	last, _ := strconv.Atoi(args[2])
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{Path: path, LockWait: 2 * time.Minute}) // what is tested is not how long eight of them wait for each other
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	out := bufio.NewWriter(os.Stdout)
	for i := first; i < last; i++ {
		id := fmt.Sprintf("ep_%s_%d", name, i)
		err := s.Write(ctx, func(tx *store.Tx) error {
			if err := tx.EnsureProject("p", ""); err != nil {
				return err
			}
			if err := tx.EnsureSession("p", name); err != nil {
				return err
			}
			return tx.AppendEpisode(&episode.Record{ID: id, Project: "p", Session: name, Role: episode.User, Content: "content of " + id})
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Fprintln(out, id)
		if err := out.Flush(); err != nil {
			return 1
		}
	}
	if err := s.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// write runs a transaction that must succeed.
func write(t testing.TB, s *store.Store, f func(tx *store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), f); err != nil {
		t.Fatalf("Write() = %v", err)
	}
}

// read runs a read that must succeed.
func read(t testing.TB, s *store.Store, f func(r *store.Reader) error) {
	t.Helper()
	if err := s.Read(t.Context(), f); err != nil {
		t.Fatalf("Read() = %v", err)
	}
}

// ensure makes a project with a session.
func ensure(t testing.TB, s *store.Store, project, session string) {
	t.Helper()
	write(t, s, func(tx *store.Tx) error {
		if err := tx.EnsureProject(project, "/"+project); err != nil {
			return err
		}
		return tx.EnsureSession(project, session)
	})
}

// add appends a user turn.
func add(t testing.TB, s *store.Store, project, session, id, content string) episode.Record {
	t.Helper()
	e := episode.Record{ID: id, Project: project, Session: session, Role: episode.User, Content: content}
	write(t, s, func(tx *store.Tx) error { return tx.AppendEpisode(&e) })
	return e
}

// fact returns a row that the schema accepts. Its id is its name's.
func fact(project, name, value, hash, ep string) symbolic.Row {
	return symbolic.Row{
		FactID: "sym_" + project + "_" + name, Project: project, QualifiedName: name, Kind: "json_field", Source: "json",
		Value: value, ASTHash: hash, Episode: ep, Line: 1,
	}
}

// clock is a time that tests move by hand.
func clock() func() time.Time {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	return func() time.Time {
		at = at.Add(time.Second)
		return at
	}
}

// paths runs a test on a file and in memory: both must behave alike.
func paths(t *testing.T, f func(t *testing.T, path string)) {
	t.Helper()
	for name, path := range map[string]string{"file": "", "memory": store.Memory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, path)
		})
	}
}
