"""Replies that no English chat model was trained on, written for these tests: a line each."""

from __future__ import annotations

GERMAN = """
Ich habe heute leider keine Zeit, vielleicht morgen.
Das ist eine sehr gute Idee, finde ich.
Wie geht es deiner Mutter inzwischen?
Nein, ich war noch nie in Hamburg gewesen.
Können wir uns nach der Arbeit am Bahnhof treffen?
Mir gefällt der neue Film überhaupt nicht.
Der Zug kommt wahrscheinlich zehn Minuten später.
Wir sollten noch Brot und Käse einkaufen.
Warum hast du mir das nicht früher gesagt?
Ja, gerne, ich bringe einen Kuchen mit.
Mein Bruder arbeitet seit drei Jahren als Lehrer.
Es regnet schon den ganzen Tag ohne Pause.
Hast du die Nachrichten von gestern gesehen?
Ich möchte bitte einen Kaffee ohne Zucker.
Das Wetter soll am Wochenende besser werden.
Leider kann ich dir dabei nicht helfen.
Sie wohnt jetzt in einer kleinen Wohnung am Fluss.
Keine Sorge, das kriegen wir schon hin.
Am liebsten esse ich Nudeln mit Tomatensoße.
Gestern bin ich viel zu spät ins Bett gegangen.
Der Hund hat wieder meine Schuhe gefressen.
Weißt du, wann das Geschäft heute schließt?
Ich freue mich schon auf den Urlaub.
Danke, das war wirklich sehr nett von dir.
"""

FRENCH = """
Je ne sais pas encore si je pourrai venir.
C'est une très bonne idée, je trouve.
Comment va ta mère depuis la semaine dernière ?
Nous devrions acheter du pain et du fromage.
Pourquoi tu ne me l'as pas dit plus tôt ?
Mon frère travaille à Lyon depuis trois ans.
Il pleut toute la journée, quelle tristesse.
Je voudrais un café sans sucre, s'il vous plaît.
Tu as vu les nouvelles d'hier soir ?
Le train arrivera avec dix minutes de retard.
Ce film ne m'a pas plu du tout.
Elle habite maintenant près de la rivière.
Ne t'inquiète pas, on va y arriver.
J'aime surtout les pâtes à la sauce tomate.
Hier je me suis couché beaucoup trop tard.
Le chien a encore mangé mes chaussures.
Sais-tu à quelle heure ferme le magasin ?
Merci, c'était vraiment gentil de ta part.
Nous partons en vacances au mois de juillet.
Je suis désolé, je ne peux pas vous aider.
Elle a oublié ses clés dans la voiture.
On se retrouve devant la gare après le travail.
Ça fait longtemps que je ne l'ai pas vu.
Bien sûr, avec grand plaisir, à demain.
"""

SPANISH = """
Todavía no sé si podré ir mañana.
Me parece una idea muy buena, la verdad.
¿Cómo está tu madre desde la semana pasada?
Deberíamos comprar pan y queso para la cena.
¿Por qué no me lo dijiste antes?
Mi hermano trabaja en Sevilla desde hace tres años.
Llueve todo el día sin parar.
Quisiera un café sin azúcar, por favor.
¿Viste las noticias de ayer por la noche?
El tren llegará con diez minutos de retraso.
Esa película no me gustó para nada.
Ahora vive en un piso pequeño cerca del río.
No te preocupes, ya lo arreglaremos.
Lo que más me gusta es la pasta con tomate.
Ayer me acosté demasiado tarde otra vez.
El perro se comió mis zapatos de nuevo.
¿Sabes a qué hora cierra la tienda hoy?
Gracias, fue muy amable de tu parte.
Nos vamos de vacaciones en el mes de julio.
Lo siento, no puedo ayudarte con eso.
Ella olvidó las llaves dentro del coche.
Nos vemos delante de la estación después del trabajo.
Hace mucho tiempo que no lo veo.
Claro que sí, con mucho gusto.
"""

CHINESE = """
我今天没有时间。
这个主意很好。
你妈妈最近怎么样？
我们应该买一些面包。
你为什么不早点告诉我？
我哥哥在上海工作了三年。
一整天都在下雨。
请给我一杯不加糖的咖啡。
你看了昨天的新闻吗？
火车会晚到十分钟。
我不喜欢那部电影。
她现在住在河边。
别担心，我们会想办法的。
我最喜欢吃番茄面。
昨天我睡得太晚了。
小狗又咬坏了我的鞋。
商店几点关门？
谢谢你，你真好。
我们七月去度假。
对不起，我帮不了你。
"""

JAPANESE = """
今日は時間がありません。
それはとてもいい考えですね。
お母さんはお元気ですか？
パンとチーズを買いましょう。
どうして早く言わなかったの？
兄は三年前から大阪で働いています。
一日中雨が降っています。
砂糖なしのコーヒーをください。
昨日のニュースを見ましたか？
電車は十分遅れるそうです。
あの映画は全然好きじゃない。
彼女は川の近くに住んでいます。
心配しないで、なんとかなるよ。
トマトのパスタが一番好きです。
昨日は遅くまで起きていました。
犬がまた靴を噛んだ。
お店は何時に閉まりますか？
ありがとう、とても親切ですね。
七月に旅行に行きます。
すみません、お手伝いできません。
"""

RUSSIAN = """
Сегодня у меня нет времени.
Это очень хорошая идея.
Как поживает твоя мама?
Нам надо купить хлеб и сыр.
Почему ты не сказал мне раньше?
Мой брат работает в Казани уже три года.
Весь день идёт дождь.
Мне, пожалуйста, кофе без сахара.
Ты видел вчерашние новости?
Поезд опоздает на десять минут.
Мне совсем не понравился этот фильм.
Она теперь живёт у реки.
Не волнуйся, мы справимся.
Больше всего я люблю макароны с томатом.
Вчера я лёг слишком поздно.
Собака опять съела мои ботинки.
Когда закрывается магазин?
Спасибо, это очень мило с твоей стороны.
В июле мы едем в отпуск.
Извините, я не могу вам помочь.
"""

ARABIC = """
ليس لدي وقت اليوم.
هذه فكرة جيدة جدا.
كيف حال والدتك؟
علينا أن نشتري الخبز والجبن.
لماذا لم تخبرني من قبل؟
أخي يعمل في القاهرة منذ ثلاث سنوات.
إنها تمطر طوال اليوم.
أريد قهوة بدون سكر من فضلك.
هل رأيت أخبار الأمس؟
سيتأخر القطار عشر دقائق.
لم يعجبني هذا الفيلم أبدا.
هي تسكن الآن قرب النهر.
لا تقلق، سنجد حلا.
أحب المعكرونة بالطماطم.
نمت متأخرا جدا أمس.
أكل الكلب حذائي مرة أخرى.
متى يغلق المتجر؟
شكرا، هذا لطف منك.
سنسافر في شهر يوليو.
آسف، لا أستطيع مساعدتك.
"""

CODE = """
for i in range(10): print(i * 2)
def area(r): return math.pi * r ** 2
if (ptr == NULL) { free(buf); return -1; }
SELECT id, name FROM users WHERE age > 30;
const xs = ys.map(y => y.id).filter(Boolean);
<div class="row"><span>{{ item.name }}</span></div>
import numpy as np; x = np.zeros((3, 4))
git commit -m "fix: typo" && git push origin main
public static void main(String[] args) { run(); }
fn add(a: i32, b: i32) -> i32 { a + b }
x = [n for n in xs if n % 2 == 0]
{"id": 17, "tags": ["a", "b"], "ok": true}
curl -X POST http://localhost:8080/api/v1/items
let total = 0; for (const p of prices) total += p;
lambda s: s.strip().lower().split(",")
#include <stdio.h> int main(void) { puts("hi"); }
df.groupby("key")["value"].mean().reset_index()
UPDATE t SET n = n + 1 WHERE id IN (1, 2, 3);
chmod +x ./run.sh; ./run.sh --fast > out.txt 2>&1
struct node { int val; struct node *next; };
"""

KEY_SMASH = """
asdf jkl qwer uiop zxcv
sdkfjh sdfkjhs dfkjh
hjkl hjkl lkjh asdfgh
qwertyuiop asdfghjkl zxcvbnm
aksjdh aksjdh kajshd qpwoe
fghfgh dfgdfg rtyrty
lkjsdf oiuwer mnbzxc
ajsdhf ajshdf kjashdf akjshdf
zxc vbn asd fgh qwe
poiu lkjh mnbv qwerr
dkfjgh dkfjgh dfkgjh
weoriu weoriu xcvmn
sdfsdf sdfsdf sdfsdf
jkljkl uiouio bnmbnm
qazwsx edcrfv tgbyhn
ghjghj tyutyu vbnvbn
lskdjf lskdjf lksdjf
mznxbc alskdj qpwoei
rtyu fghj vbnm dfgh
asdasd qweqwe zxczxc
"""

STRANGE = {
    name.lower(): text.strip().splitlines()
    for name, text in {
        "german": GERMAN,
        "french": FRENCH,
        "spanish": SPANISH,
        "chinese": CHINESE,
        "japanese": JAPANESE,
        "russian": RUSSIAN,
        "arabic": ARABIC,
        "code": CODE,
        "key smash": KEY_SMASH,
    }.items()
}
"""What it is -> its replies."""
