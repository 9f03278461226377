package dev.lite.fabric.driver;

import dev.lite.fabric.Post;

/** An endpoint to which nothing can be posted. */
abstract class UnpostableEndpoint<L extends DriverLink> extends DriverEndpoint<L> {
    UnpostableEndpoint(boolean accepted) {
        super(accepted);
    }

    @Override
    public long mappedAddress() {
        return 0;
    }

    @Override
    public Post read(long remoteOffset, long localAddress, long length, long context) {
        return Post.CLOSED;
    }

    @Override
    public Post write(long remoteOffset, long localAddress, long length, long context) {
        return Post.CLOSED;
    }

    @Override
    public Post writeImm(long remoteOffset, long localAddress, long length, int immediate, long context) {
        return Post.CLOSED;
    }

    @Override
    public Post fetchAdd(long remoteOffset, long delta, long resultAddress, long context) {
        return Post.CLOSED;
    }

    @Override
    public Post compareAndSwap(long remoteOffset, long expected, long value, long resultAddress, long context) {
        return Post.CLOSED;
    }
}
