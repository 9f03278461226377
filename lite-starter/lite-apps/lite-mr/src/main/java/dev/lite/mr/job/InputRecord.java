package dev.lite.mr.job;

/** One record of an input: a line without its line feed, or so many bytes. One thread. */
public final class InputRecord extends Slice {
    private final int input;
    private long position;

    /** Creates an empty record of an input. */
    public InputRecord(int input) {
        this.input = input;
    }

    /** The number of the input in the order of the job's inputs, from 0. */
    public int input() {
        return input;
    }

    /** Where the record starts in its input, in bytes. */
    public long position() {
        return position;
    }

    /** Sets where the record starts. For LITE-MR. */
    public void setPosition(long newPosition) {
        position = newPosition;
    }
}
