package dev.lite.samples.thumbnail;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.RpcHandlerException;
import dev.lite.test.LiteTest;
import java.awt.image.BufferedImage;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;

/** What a thumbnailer makes of requests, with photos in the memory of a node in this JVM. */
@LiteTest
class ThumbnailerTests {

    @Autowired
    Lite lite;

    private Thumbnailer thumbnailer;

    @BeforeEach
    void makeThumbnailer() {
        thumbnailer = new Thumbnailer(lite);
    }

    private Thumbnail make(BufferedImage picture, int width) {
        byte[] png = Pictures.encode(picture, "png");
        LmrHandle photo = lite.memory().register(LmrSpec.of(png.length), MemorySegment.ofArray(png));
        try {
            return thumbnailer.make(new Photo(photo.id(), png.length, width));
        } finally {
            photo.free();
        }
    }

    @Test
    void aPhotoInRemoteMemoryBecomesAThumbnail() {
        Thumbnail thumbnail = make(Pictures.photo(72, 54, new Random(7)), 36);
        assertThat(thumbnail.node()).isEqualTo("node-1");
        BufferedImage picture = Pictures.decode(thumbnail.jpeg());
        assertThat(picture.getWidth()).isEqualTo(36);
        assertThat(picture.getHeight()).isEqualTo(27);
    }

    @Test
    void aThumbnailThatWouldBeTooLargeForAReplyIsRefused() {
        assertThatThrownBy(() -> make(Pictures.photo(72, 54, new Random(7)), 257))
                .isInstanceOf(RpcHandlerException.class)
                .hasMessage("the width of the thumbnail is 257; it must be 1 to 256");
        assertThatThrownBy(() -> make(Pictures.photo(2, 400, new Random(7)), 100))
                .isInstanceOf(RpcHandlerException.class)
                .hasMessage("the height of the thumbnail is 20000; it must be 1 to 256");
    }

    @Test
    void aRequestCannotMakeAThumbnailerAllocateWhateverItSays() {
        for (int bytes : new int[] {Integer.MAX_VALUE, (32 << 20) + 1, 0, -1}) {
            assertThatThrownBy(() -> thumbnailer.make(new Photo(1, bytes, 100)))
                    .isInstanceOf(RpcHandlerException.class)
                    .hasMessage("the number of bytes of the photo is %d; it must be 1 to 33554432".formatted(bytes));
        }
    }
}
