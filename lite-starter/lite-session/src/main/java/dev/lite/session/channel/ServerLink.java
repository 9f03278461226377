package dev.lite.session.channel;

import dev.lite.os.RawMemory;
import java.util.concurrent.atomic.AtomicLong;

/** The server's end of a link: receives requests and sends replies. */
final class ServerLink extends ChannelLink {
    private final RequestBell bell;
    /** A bit for each slot with a request that was not answered. */
    private final AtomicLong open = new AtomicLong();

    ServerLink(ChannelMemory memory, RequestBell bell, LinkSocket socket, LinkWatch watch) {
        super(memory, socket, watch);
        this.bell = bell;
    }

    /** The request of a slot was dropped, since its caller does not wait any more. */
    void dropped(int itsSlot) {
        RawMemory.putInt(memory.slot(itsSlot) + ChannelArea.STATUS, 0);
        RawMemory.putInt(memory.slot(itsSlot) + ChannelArea.REPLY_LENGTH, 0);
        send(itsSlot);
    }

    /** Sends the reply of a slot, or leaves it to a thread that looks for requests. Never blocks. */
    void reply(int itsSlot) {
        if (bell.bits() != 0 && sendsOften()) {
            note(itsSlot); // who takes the last request sends
            watch.left();
        } else {
            leave(itsSlot);
        }
    }

    @Override
    int prepare(int itsSlot, long header) {
        int word = RawMemory.getIntVolatile(memory.word(itsSlot));
        int status = RawMemory.getInt(memory.slot(itsSlot) + ChannelArea.STATUS);
        int length = RawMemory.getInt(memory.slot(itsSlot) + ChannelArea.REPLY_LENGTH);
        put(header, REPLY, itsSlot, SlotWord.generation(word), status, length);
        // Before it is sent: the next request may come at once.
        open.getAndUpdate(bits -> bits & ~(1L << itsSlot));
        return length;
    }

    @Override
    int check(int itsKind, int itsSlot, int itsGeneration, int itsFirst, int itsSecond) {
        boolean isOpen = (open.get() & 1L << itsSlot) != 0;
        if (itsKind == CANCEL) {
            if (isOpen) {
                long word = memory.word(itsSlot);
                boolean unused = RawMemory.compareAndSetInt(
                        word,
                        SlotWord.of(itsGeneration, SlotWord.PENDING),
                        SlotWord.of(itsGeneration, SlotWord.CANCELLED));
            }
            return 0; // its reply may have crossed it
        }
        if (itsKind != REQUEST) {
            memory.endFor("the kind of a frame to a server", itsKind, REQUEST + " or " + CANCEL);
            return NOTHING;
        }
        if (isOpen) {
            memory.endFor("a slot with a call that is not answered was submitted again", itsSlot, "free");
            return NOTHING;
        }
        if (itsGeneration != SlotWord.generation(SlotWord.of(itsGeneration, SlotWord.PENDING))) {
            memory.endFor("the generation of a request in slot " + itsSlot, itsGeneration, "one of a word");
            return NOTHING;
        }
        int length = itsFirst & ChannelArea.LENGTH_MASK;
        if (length > area.windowBytes()) {
            memory.endFor("the length of the request in slot " + itsSlot, length, "0 to " + area.windowBytes());
            return NOTHING;
        }
        return length;
    }

    @Override
    void arrived(int itsKind, int itsSlot, int itsGeneration, int itsFirst, int itsSecond) {
        if (itsKind == CANCEL) {
            return;
        }
        open.getAndUpdate(bits -> bits | 1L << itsSlot);
        RawMemory.putInt(memory.slot(itsSlot) + ChannelArea.REQUEST_LENGTH, itsFirst);
        RawMemory.putInt(memory.slot(itsSlot) + ChannelArea.CAPACITY, itsSecond);
        RawMemory.putIntRelease(memory.word(itsSlot), SlotWord.of(itsGeneration, SlotWord.PENDING));
        if (!bell.submit(itsSlot) && isWatched()) {
            bell.ringAgain(); // the thread that is awake may be busy for long
        }
    }

    @Override
    Again again() {
        return switch (bell.value()) {
            case RequestBell.RING -> Again.NOW;
            case RequestBell.AWAKE -> Again.LATER;
            default -> Again.NEVER;
        };
    }
}
