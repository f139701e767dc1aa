package bench;

/** What one subtask of a source has emitted, and how far behind its schedule it is. */
public class Counter {
    public volatile long emitted;
    public volatile long lagMicros;
}
