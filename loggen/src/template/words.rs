//! Lists of words.

pub(super) const TOPICS: [&str; 6] = ["orders", "settlements", "goods-received", "clickstream", "notifications", "__consumer_offsets"];

pub(super) const CURRENCIES: [&str; 5] = ["EUR", "EUR", "EUR", "GBP", "CHF"];

pub(super) const COUNTRIES: [&str; 10] = ["DE", "DE", "AT", "CH", "FR", "NL", "BE", "PL", "GB", "DK"];

pub(super) const COUPONS: [&str; 8] = ["WELCOME10", "FREESHIP", "SPRING26", "COMEBACK5", "VIP15", "BIRTHDAY", "APPONLY", "B2B-NET"];

pub(super) const MAIL_HOSTS: [&str; 5] = ["mail.example", "post.example", "example.com", "example.net", "example.org"];

pub(super) const FIRST_NAMES: [&str; 32] = [
    "maria", "jonas", "lea", "paul", "emma", "felix", "anna", "lukas", "sofie", "noah", "mia", "elias", "clara", "oskar", "ida", "emil", "zoe",
    "jan", "eva", "tom", "nina", "max", "lisa", "ben", "julia", "finn", "sara", "leo", "marta", "piotr", "chloe", "hugo",
];

pub(super) const LAST_NAMES: [&str; 32] = [
    "keller", "novak", "dubois", "jansen", "wagner", "schmid", "rossi", "kowalski", "nielsen", "moreau", "becker", "vries", "hansen", "fischer",
    "bauer", "lindner", "peeters", "weber", "brandt", "huber", "martin", "smith", "evans", "koch", "richter", "wolf", "vogel", "frank", "simon",
    "roth", "lang", "berger",
];

pub(super) const AGENTS: [&str; 10] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/133.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:135.0) Gecko/20100101 Firefox/135.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Safari/605.1.15",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/133.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/133.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:135.0) Gecko/20100101 Firefox/135.0",
    "ShopApp/7.14.2 (iOS 18.3; iPhone16,1)",
    "ShopApp/7.14.0 (Android 15; SM-S928B)",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/133.0.0.0 Safari/537.36 Edg/133.0.0.0",
];

pub(super) const BOTS: [&str; 4] = [
    "Mozilla/5.0 (compatible; ExampleBot/2.1; +https://bot.example/about)",
    "PriceWatch/3.0 (+https://prices.example)",
    "Mozilla/5.0 (compatible; SearchSpider/1.4; +https://spider.example)",
    "python-requests/2.32.3",
];

pub(super) const REFERERS: [&str; 8] = [
    "-",
    "-",
    "https://shop.example.com/",
    "https://shop.example.com/cart",
    "https://shop.example.com/search?q=running+shoes",
    "https://shop.example.com/c/outdoor",
    "https://www.search.example/",
    "https://newsletter.example/spring",
];
